package repair.runner;

import java.io.IOException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs tests once, in this fresh JVM, and reports each to a file of its own as it ends.
 *
 * <p>The class path holds the tests, the program and a JUnit platform; nothing is loaded in an isolated way. Standard
 * output belongs to the tests. A results file without its last line, {@code {"done":n}}, is a run that was cut short: by
 * an exit, a crash or a kill.
 *
 * <pre>Main RESULTS [--scan DIR | --class NAME | --without NAME]...</pre>
 */
public final class Main {
    /** How long shutdown hooks of the tested program may take before the JVM is halted. */
    private static final long HOOKS_SECONDS = 2;

    private Main() {}

    public static void main(String[] args) throws IOException {
        Set<String> names = new LinkedHashSet<>();
        Set<String> without = new LinkedHashSet<>();
        for (int i = 1; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--scan": names.addAll(TestClasses.in(Paths.get(args[i + 1]))); break;
                case "--class": names.add(args[i + 1]); break;
                case "--without": without.add(args[i + 1]); break;
                default: throw new IllegalArgumentException("unknown option `" + args[i] + "`");
            }
        }
        names.removeIf(name -> without.contains(name) || without.contains(TestClasses.outermost(name)));
        try (Results results = new Results(Paths.get(args[0]))) {
            run(names, results);
            results.done();
        }
        leave();
    }

    private static void run(Set<String> names, Results results) {
        List<DiscoverySelector> selectors = new ArrayList<>();
        for (String name : names) {
            try {
                Class<?> loaded = Class.forName(name, false, Thread.currentThread().getContextClassLoader());
                selectors.add(DiscoverySelectors.selectClass(loaded));
            } catch (ClassNotFoundException | LinkageError error) {
                results.unloadable(name, error);
            }
        }
        if (selectors.isEmpty()) {
            return;
        }
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request().selectors(selectors).build();
        LauncherFactory.create().execute(request, new Listener(results));
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
