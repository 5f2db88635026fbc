package repair.runner;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs test classes of the current thread's context class loader. */
final class Run {
    private Run() {}

    static void all(Set<String> names, Results results) {
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
}
