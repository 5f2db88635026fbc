package repair.jdtls;

import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.core.resources.IFile;
import org.eclipse.core.runtime.CoreException;
import org.eclipse.jdt.core.ICompilationUnit;
import org.eclipse.jdt.core.IJavaElement;
import org.eclipse.jdt.core.IJavaProject;
import org.eclipse.jdt.core.IPackageFragment;
import org.eclipse.jdt.core.JavaModelException;
import repair.jdtls.Compilation.Problem;

/**
 * The project's other files that a change of what a unit declares may break. Files are chosen by the names in their text:
 * those of the changed members, and those of the classes that declare them and of their subclasses. So none is left out
 * that names what has changed; compiling tells.
 */
final class Dependents {
    /** With more files than this to compile the question would take seconds; whoever validates compiles them all. */
    private static final int MOST = 200;
    private static final Pattern WORD = Pattern.compile("[\\p{javaJavaIdentifierStart}][\\p{javaJavaIdentifierPart}]*");
    private static final Pattern SUBTYPE =
        Pattern.compile("\\b(?:class|interface|enum|record)\\s+(\\w+)[^{;]*?\\b(?:extends|implements)\\b([^{;]*)\\{");

    private final Session session;
    /** The files' own problems, before any change. */
    private final Map<ICompilationUnit, List<Problem>> before = new HashMap<>();

    Dependents(Session session) {
        this.session = session;
    }

    /**
     * Problems of other files that the working copy's text causes and the unpatched text does not. {@code changed}: simple
     * names of what it declares otherwise.
     */
    List<Problem> problems(Set<String> changed, String text) throws JavaModelException {
        List<ICompilationUnit> units = naming(changed);
        if (units.size() > MOST) {
            return List.of();
        }
        List<ICompilationUnit> unknown = units.stream().filter(unit -> !before.containsKey(unit)).toList();
        if (!unknown.isEmpty()) {
            session.setText(session.text());
            before.putAll(Compilation.problemsOf(session, unknown));
        }
        session.setText(text);
        List<Problem> news = new ArrayList<>();
        Compilation.problemsOf(session, units).forEach((unit, problems) -> {
            List<Problem> known = new ArrayList<>(before.get(unit));
            problems.stream().filter(problem -> !known.remove(problem)).forEach(news::add);
        });
        return news;
    }

    private List<ICompilationUnit> naming(Set<String> changed) throws JavaModelException {
        Map<ICompilationUnit, Words> files = words(session.project());
        Set<String> names = new HashSet<>(changed);
        boolean grows = true;
        while (grows) {
            grows = false;
            for (Words words : files.values()) {
                for (Map.Entry<String, Set<String>> type : words.supertypes.entrySet()) {
                    grows |= type.getValue().stream().anyMatch(names::contains) && names.add(type.getKey());
                }
            }
        }
        List<ICompilationUnit> units = new ArrayList<>();
        files.forEach((unit, words) -> {
            if (!unit.equals(session.workingCopy().getPrimary()) && names.stream().anyMatch(words.all::contains)) {
                units.add(unit);
            }
        });
        return units;
    }

    /** Words of a file, and for each type that it declares those of its header. */
    private record Words(Set<String> all, Map<String, Set<String>> supertypes) {}

    private static Map<ICompilationUnit, Words> words(IJavaProject project) throws JavaModelException {
        return ProjectWords.of(project);
    }

    /** The words of the project's files, read once: a repair changes one file, and only in memory. */
    private static final class ProjectWords {
        private static IJavaProject known;
        private static Map<ICompilationUnit, Words> files;

        static synchronized Map<ICompilationUnit, Words> of(IJavaProject project) throws JavaModelException {
            if (!project.equals(known)) {
                Map<ICompilationUnit, Words> read = new HashMap<>();
                for (IPackageFragment fragment : project.getPackageFragments()) {
                    if (fragment.getElementType() == IJavaElement.PACKAGE_FRAGMENT) {
                        for (ICompilationUnit unit : fragment.getCompilationUnits()) {
                            read.put(unit, read(unit));
                        }
                    }
                }
                files = read;
                known = project;
            }
            return files;
        }

        private static Words read(ICompilationUnit unit) {
            try {
                IFile file = (IFile) unit.getResource();
                String text = Files.readString(Path.of(file.getLocationURI()), Charset.forName(file.getCharset()));
                return new Words(wordsOf(text), supertypes(text));
            } catch (IOException | CoreException unreadable) {
                // What cannot be read breaks nothing that could be told.
                return new Words(Set.of(), Map.of());
            }
        }

        private static Set<String> wordsOf(String text) {
            Set<String> words = new HashSet<>();
            Matcher matcher = WORD.matcher(text);
            while (matcher.find()) {
                words.add(matcher.group());
            }
            return words;
        }

        private static Map<String, Set<String>> supertypes(String text) {
            Map<String, Set<String>> supertypes = new HashMap<>();
            Matcher matcher = SUBTYPE.matcher(text);
            while (matcher.find()) {
                supertypes.put(matcher.group(1), wordsOf(matcher.group(2)));
            }
            return supertypes;
        }
    }
}
