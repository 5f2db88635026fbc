package repair.runner;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds the classes of a suite by name, as Surefire does by default: {@code Test*}, {@code *Test}, {@code *Tests} and
 * {@code *TestCase}. Nested classes are not listed; their outer class runs those that it should.
 */
final class TestClasses {
    private static final String SUFFIX = ".class";
    private static final Pattern TEST_NAME = Pattern.compile("(.*\\.)?(Test[^.]*|[^.]*(Test|Tests|TestCase))");

    private TestClasses() {}

    /** Names of the test classes below {@code root}, sorted; all classes there if none bears a test's name. */
    static List<String> in(Path root) throws IOException {
        List<String> all;
        try (Stream<Path> files = Files.walk(root)) {
            all = files.map(file -> root.relativize(file).toString())
                    .filter(path -> path.endsWith(SUFFIX) && path.indexOf('$') < 0 && !path.endsWith("-info.class"))
                    .map(path -> path.substring(0, path.length() - SUFFIX.length()).replace(File.separatorChar, '.'))
                    .sorted()
                    .collect(Collectors.toList());
        }
        List<String> named = all.stream().filter(name -> TEST_NAME.matcher(name).matches()).collect(Collectors.toList());
        return named.isEmpty() ? all : named;
    }

    /** The top-level class that {@code name} is nested in, or {@code name} itself. */
    static String outermost(String name) {
        int dollar = name.indexOf('$');
        return dollar < 0 ? name : name.substring(0, dollar);
    }
}
