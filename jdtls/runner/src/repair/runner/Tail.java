package repair.runner;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Keeps the end of what is written: the tests' output, however much it is. Thread-safe; closing it does nothing. */
final class Tail extends OutputStream {
    private final byte[] ring = new byte[8192];
    private long written;

    @Override
    public synchronized void write(int unit) {
        ring[(int) (written++ % ring.length)] = (byte) unit;
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int length) {
        int skipped = Math.max(0, length - ring.length);
        written += skipped;
        for (int i = skipped; i < length; i++) {
            write(bytes[offset + i]);
        }
    }

    /** The end of what was written since the last call. */
    synchronized String take() {
        int kept = (int) Math.min(written, ring.length);
        byte[] bytes = new byte[kept];
        for (int i = 0; i < kept; i++) {
            bytes[i] = ring[(int) ((written - kept + i) % ring.length)];
        }
        written = 0;
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
