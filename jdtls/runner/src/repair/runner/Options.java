package repair.runner;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * What to run, as words in pairs: {@code --scan DIR}, {@code --class NAME}, {@code --without NAME}, {@code --dir ENTRY} of a
 * program's own class path, {@code --nonce FILE}.
 */
final class Options {
    /** Test classes, in order. */
    final Set<String> names = new LinkedHashSet<>();
    /** Directories and jars of the program under test, in order. */
    final List<Path> entries = new ArrayList<>();
    /** A file that holds the word that each result begins with; {@code null} for none. */
    Path nonce;

    /** Reads the words from {@code from} on. */
    Options(String[] words, int from) throws IOException {
        Set<String> without = new LinkedHashSet<>();
        for (int i = from; i + 1 < words.length; i += 2) {
            String value = words[i + 1];
            switch (words[i]) {
                case "--scan": names.addAll(TestClasses.in(Paths.get(value))); break;
                case "--class": names.add(value); break;
                case "--without": without.add(value); break;
                case "--dir": entries.add(Paths.get(value)); break;
                case "--nonce": nonce = Paths.get(value); break;
                default: throw new IllegalArgumentException("unknown option `" + words[i] + "`");
            }
        }
        names.removeIf(name -> without.contains(name) || without.contains(TestClasses.outermost(name)));
    }
}
