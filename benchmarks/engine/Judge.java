import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Compiles each of many sources by itself against a class path, with one warm compiler.
 *
 * <pre>java Judge.java LIST OPTION..</pre>
 *
 * prints for each line of LIST, a path, whether it compiles: {@code true} or {@code false}.
 */
final class Judge {
    private Judge() {}

    public static void main(String[] args) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> options = Arrays.asList(args).subList(1, args.length);
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, Locale.ROOT, null)) {
            for (String source : Files.readAllLines(Path.of(args[0]))) {
                boolean compiles =
                        compiler.getTask(null, files, problem -> {}, options, null, files.getJavaFileObjects(source)).call();
                System.out.println(compiles);
            }
        }
    }
}
