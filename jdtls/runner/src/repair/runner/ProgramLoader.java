package repair.runner;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;

/**
 * Loads a program anew for each candidate, so that its statics are new too. The program's own entries go before the shared
 * ones; only what the runner itself works with is always shared, as it comes first on a fresh JVM's class path.
 */
final class ProgramLoader extends URLClassLoader {
    static {
        registerAsParallelCapable();
    }

    /** Packages of the JDK and of the test platform. */
    private static final String[] SHARED = {"java.", "org.junit.", "junit.", "org.opentest4j.", "org.apiguardian.", "repair.runner."};

    ProgramLoader(List<Path> entries, ClassLoader shared) {
        super(urls(entries), shared);
    }

    private static URL[] urls(List<Path> entries) {
        URL[] urls = new URL[entries.size()];
        for (int i = 0; i < urls.length; i++) {
            try {
                urls[i] = entries.get(i).toUri().toURL();
            } catch (MalformedURLException impossible) {
                throw new IllegalArgumentException(impossible);
            }
        }
        return urls;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> found = findLoadedClass(name);
            if (found == null) {
                found = isShared(name) ? sharedOrOwn(name) : ownOrShared(name);
            }
            if (resolve) {
                resolveClass(found);
            }
            return found;
        }
    }

    private static boolean isShared(String name) {
        for (String prefix : SHARED) {
            if (name.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }

    private Class<?> sharedOrOwn(String name) throws ClassNotFoundException {
        try {
            return getParent().loadClass(name);
        } catch (ClassNotFoundException absent) {
            return findClass(name);
        }
    }

    private Class<?> ownOrShared(String name) throws ClassNotFoundException {
        try {
            return findClass(name);
        } catch (ClassNotFoundException absent) {
            return getParent().loadClass(name);
        }
    }

    @Override
    public URL getResource(String name) {
        URL own = findResource(name);
        return own != null ? own : super.getResource(name);
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        List<URL> all = new ArrayList<>(Collections.list(findResources(name)));
        all.addAll(Collections.list(getParent().getResources(name)));
        return Collections.enumeration(all);
    }
}
