package repair.runner;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;

/**
 * Runs tests once, in this fresh JVM, and reports each to a file of its own as it ends.
 *
 * <p>The class path holds the tests, the program and a JUnit platform; nothing is loaded in an isolated way. Standard
 * output belongs to the tests. A results file without its last line, {@code {"done":n}}, is a run that was cut short: by
 * an exit, a crash or a kill.
 *
 * <p>With {@code --nonce FILE} every line begins with the word in that file, which is removed before any tested class is
 * loaded: the program under test cannot know it, so it cannot write results of its own.
 *
 * <pre>Main RESULTS [--nonce FILE] [--scan DIR | --class NAME | --without NAME]...</pre>
 */
public final class Main {
    /** How long shutdown hooks of the tested program may take before the JVM is halted. */
    private static final long HOOKS_SECONDS = 2;

    private Main() {}

    public static void main(String[] args) throws IOException {
        Options options = new Options(args, 1);
        try (Results results = new Results(Files.newOutputStream(Paths.get(args[0])), prefix(options.nonce))) {
            Run.all(options.names, results);
            results.done();
        }
        leave();
    }

    private static String prefix(Path nonce) throws IOException {
        if (nonce == null) {
            return "";
        }
        String word = new String(Files.readAllBytes(nonce), StandardCharsets.US_ASCII);
        Files.delete(nonce);
        return word + " ";
    }

    /** Ends the JVM whatever threads or shutdown hooks the tested program left behind. */
    private static void leave() {
        Thread watchdog = new Thread(() -> {
            try {
                TimeUnit.SECONDS.sleep(HOOKS_SECONDS);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(0);
        });
        watchdog.setDaemon(true);
        watchdog.start();
        System.exit(0);
    }
}
