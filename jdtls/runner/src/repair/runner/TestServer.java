package repair.runner;

import java.io.ByteArrayInputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Runs the tests of one candidate after the other in this JVM, each in a class loader of its own.
 *
 * <p>A request is a word that its results begin with, then {@code --dir}, {@code --class} and {@code --without} as in {@link
 * Options}. The results go to the standard output as it was at the start, which the tests do not have; the last line says
 * besides how many threads were left behind, whether the JVM is spoilt, and the end of what the tests printed:
 * {@code {"done":n,"threads":n,"spoilt":b,"tail":"..."}}. Whoever asks keeps the time and ends this process.
 *
 * <pre>TestServer</pre>
 */
public final class TestServer {
    /** How long threads of a candidate may take to end by themselves. */
    private static final long PATIENCE_MILLIS = 50;

    private TestServer() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        OutputStream channel = new FileOutputStream(FileDescriptor.out);
        Requests requests = new Requests();
        Tail tail = new Tail();
        System.setIn(new ByteArrayInputStream(new byte[0]));
        for (String[] words = requests.next(); words != null; words = requests.next()) {
            // The program can close a print stream, so each gets its own.
            System.setOut(new PrintStream(tail, true));
            System.setErr(new PrintStream(tail, true));
            serve(words, channel, tail);
        }
        Runtime.getRuntime().halt(0);
    }

    private static void serve(String[] words, OutputStream channel, Tail tail) throws IOException, InterruptedException {
        JdkState state = new JdkState();
        Set<Thread> before = liveThreads();
        Results results = new Results(channel, words[0] + " ");
        Options options = new Options(words, 1);
        try (ProgramLoader program = new ProgramLoader(options.entries, TestServer.class.getClassLoader())) {
            // A thread of its own: thread-local values end with it. What it writes to is on stacks only, out of the reach of
            // reflection.
            Results[] handed = {results};
            Thread tests = new Thread(() -> Run.all(options.names, taken(handed)), "main");
            boolean[] broken = new boolean[1];
            tests.setContextClassLoader(program);
            tests.setUncaughtExceptionHandler((thread, error) -> broken[0] = true);
            tests.start();
            tests.join();
            int left = leftBehind(before);
            state.restore();
            boolean isSpoilt = broken[0] || state.isSpoilt();
            results.done(",\"threads\":" + left + ",\"spoilt\":" + isSpoilt + ",\"tail\":" + Results.quoted(tail.take()));
        }
    }

    private static Results taken(Results[] handed) {
        Results own = handed[0];
        handed[0] = null;
        return own;
    }

    private static int leftBehind(Set<Thread> before) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE_MILLIS * 1_000_000;
        Set<Thread> left = liveThreads();
        left.removeAll(before);
        while (!left.isEmpty() && System.nanoTime() < deadline) {
            Thread.sleep(2);
            left.removeIf(thread -> !thread.isAlive());
        }
        return left.size();
    }

    private static Set<Thread> liveThreads() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        Thread[] threads = new Thread[root.activeCount() * 2 + 16];
        int count = root.enumerate(threads, true);
        return new HashSet<>(Arrays.asList(threads).subList(0, count));
    }
}
