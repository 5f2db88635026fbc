package repair.runner;

import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * The results: one JSON object a line, flushed at once, so that whatever ends the JVM leaves what was known. Each line
 * begins with a prefix that the program under test does not know.
 *
 * <pre>
 * {"started":"a.B"}
 * {"started":"a.B#m"}
 * {"test":"a.B#m","status":"failed","exception":"java.lang.AssertionError","message":"...","ms":12}
 * {"ended":"a.B"}
 * {"done":1}
 * </pre>
 *
 * A name without {@code #} is a class (or an engine); as a {@code test} it failed or was skipped as a whole.
 * Thread-safe: tests may run in parallel.
 */
final class Results implements Closeable {
    /** Longest message that is kept, in UTF-16 units: diffs of big strings are of no use to anybody. */
    private static final int MESSAGE_LIMIT = 2000;

    private final BufferedWriter writer;
    private final String prefix;
    private int written;

    Results(OutputStream out, String prefix) {
        this.writer = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8));
        this.prefix = prefix;
    }

    void started(String test) {
        write("{\"started\":" + quoted(test) + "}");
    }

    /** A class ran to its end without an error of its own. */
    void ended(String className) {
        write("{\"ended\":" + quoted(className) + "}");
    }

    synchronized void finished(String test, String status, Throwable cause, long millis) {
        StringBuilder line = new StringBuilder();
        line.append("{\"test\":").append(quoted(test)).append(",\"status\":").append(quoted(status));
        if (cause != null) {
            line.append(",\"exception\":").append(quoted(cause.getClass().getName()));
            String message = messageOf(cause);
            if (message != null) {
                line.append(",\"message\":").append(quoted(message));
            }
        }
        write(line.append(",\"ms\":").append(millis).append('}').toString());
        written++;
    }

    void unloadable(String className, Throwable cause) {
        finished(className, "failed", cause, 0);
    }

    synchronized void done() {
        done("");
    }

    /** The last line, with further members behind the number of results. */
    synchronized void done(String members) {
        write("{\"done\":" + written + members + "}");
    }

    @Override
    public void close() throws IOException {
        writer.close();
    }

    private synchronized void write(String line) {
        try {
            writer.write(prefix);
            writer.write(line);
            writer.write('\n');
            writer.flush();
        } catch (IOException cause) {
            throw new UncheckedIOException(cause);
        }
    }

    /** A cause's message; a test may throw what cannot even say what it is. */
    private static String messageOf(Throwable cause) {
        try {
            String message = cause.getMessage();
            boolean fits = message == null || message.length() <= MESSAGE_LIMIT;
            return fits ? message : message.substring(0, MESSAGE_LIMIT) + "...";
        } catch (RuntimeException | StackOverflowError broken) {
            return "(its message cannot be read: " + broken.getClass().getName() + ")";
        }
    }

    /** A JSON string in ASCII: escapes keep lone surrogates and control characters harmless. */
    static String quoted(String text) {
        StringBuilder json = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            char unit = text.charAt(i);
            if (unit == '"' || unit == '\\') {
                json.append('\\').append(unit);
            } else if (unit >= ' ' && unit <= '~') {
                json.append(unit);
            } else {
                json.append(String.format("\\u%04x", (int) (isLone(text, i) ? '\ufffd' : unit)));
            }
        }
        return json.append('"').toString();
    }

    private static boolean isLone(String text, int index) {
        char unit = text.charAt(index);
        if (Character.isHighSurrogate(unit)) {
            return index + 1 == text.length() || !Character.isLowSurrogate(text.charAt(index + 1));
        }
        return Character.isLowSurrogate(unit) && (index == 0 || !Character.isHighSurrogate(text.charAt(index - 1)));
    }
}
