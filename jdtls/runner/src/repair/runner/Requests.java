package repair.runner;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Requests on the standard input: a count of words, then each word's length in bytes and its UTF-8; all numbers 32 bits. */
final class Requests {
    private final DataInputStream in =
            new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in)));

    /** The next request's words; {@code null} where whoever asks is gone. */
    String[] next() throws IOException {
        int count;
        try {
            count = in.readInt();
        } catch (EOFException gone) {
            return null;
        }
        String[] words = new String[count];
        for (int i = 0; i < count; i++) {
            byte[] bytes = new byte[in.readInt()];
            in.readFully(bytes);
            words[i] = new String(bytes, StandardCharsets.UTF_8);
        }
        return words;
    }
}
