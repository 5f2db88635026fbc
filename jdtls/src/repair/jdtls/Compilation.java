package repair.jdtls;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.eclipse.jdt.core.ICompilationUnit;
import org.eclipse.jdt.core.JavaModelException;
import org.eclipse.jdt.core.compiler.CategorizedProblem;
import org.eclipse.jdt.core.compiler.IProblem;
import org.eclipse.jdt.internal.compiler.ClassFile;
import org.eclipse.jdt.internal.compiler.DefaultErrorHandlingPolicies;
import org.eclipse.jdt.internal.compiler.ICompilerRequestor;
import org.eclipse.jdt.internal.compiler.ast.ASTNode;
import org.eclipse.jdt.internal.compiler.ast.CompilationUnitDeclaration;
import org.eclipse.jdt.internal.compiler.ast.ImportReference;
import org.eclipse.jdt.internal.compiler.ast.TypeDeclaration;
import org.eclipse.jdt.internal.compiler.impl.CompilerOptions;
import org.eclipse.jdt.internal.compiler.lookup.ImportBinding;
import org.eclipse.jdt.internal.compiler.lookup.LocalTypeBinding;
import org.eclipse.jdt.internal.compiler.lookup.TypeBinding;
import org.eclipse.jdt.internal.compiler.problem.DefaultProblemFactory;
import org.eclipse.jdt.internal.core.CompilationUnitProblemFinder;
import org.eclipse.jdt.internal.core.JavaProject;
import org.eclipse.jdt.internal.core.SearchableEnvironment;

/** Compiles the working copy's text in memory against the rest of the project. Only errors are reported. */
final class Compilation {
    private Compilation() {}

    /**
     * Offsets are UTF-16 units of the compiled text, {@code end} exclusive; {@code line} is the text of its first line.
     * {@code file} is the path in the workspace of another file that the problem is in, null for the unit itself.
     */
    record Problem(int id, boolean syntax, int start, int end, String line, String message, String file) {}

    record Reply(List<Problem> problems) {}

    /**
     * The errors of the file with the hole filled. With {@code recover} the hole is unfinished: what it left open is
     * closed and the compiler mends syntax errors and goes on.
     */
    static Reply check(Session session, Arguments given) throws JavaModelException {
        String hole = given.text("hole");
        boolean recover = given.flag("recover");
        synchronized (session) {
            HoleText unfinished = recover ? session.read(hole) : null;
            String text = unfinished == null
                ? session.prefix() + hole + session.suffix()
                : session.unfinished(hole, unfinished);
            session.setText(text);
            Finder finder = run(session, recover);
            List<Problem> problems = problems(text, finder.problems, null);
            if (!recover && (!session.inBody() || hole.indexOf('}') >= 0)) {
                Set<String> changed = Structure.of(finder.classes).namesOfChanges(session.structure());
                if (!changed.isEmpty()) {
                    problems = new ArrayList<>(problems);
                    problems.addAll(session.dependents().problems(changed, text));
                }
            }
            return new Reply(problems);
        }
    }

    /** As {@code check}; the class files are written below {@code directory} if there are no errors. */
    static Reply writeClasses(Session session, Arguments given) throws JavaModelException, IOException {
        Path directory = Path.of(given.text("directory"));
        synchronized (session) {
            String text = session.prefix() + given.text("hole") + session.suffix();
            session.setText(text);
            Finder finder = run(session, false);
            List<Problem> problems = problems(text, finder.problems, null);
            for (ClassFile file : problems.isEmpty() ? finder.classes : List.<ClassFile>of()) {
                Path path = directory.resolve(new String(file.fileName()) + ".class");
                Files.createDirectories(path.getParent());
                Files.write(path, file.getBytes());
            }
            return new Reply(problems);
        }
    }

    /** Compiles the text that the working copy has now and looks at where its names come from. */
    static Surroundings surroundings(Session session) throws JavaModelException {
        Finder finder = run(session, false);
        boolean parsed = finder.problems.stream().noneMatch(Compilation::isSyntax);
        return new Surroundings(
            parsed, finder.namesKnown, missingNames(session.text(), finder.problems), Set.copyOf(finder.importedNames));
    }

    private static Set<String> missingNames(String text, List<CategorizedProblem> problems) {
        Set<String> names = new HashSet<>();
        for (CategorizedProblem problem : problems) {
            int end = Math.min(problem.getSourceEnd() + 1, text.length());
            String where = text.substring(Math.clamp(problem.getSourceStart(), 0, end), end);
            boolean isMissing = switch (problem.getID()) {
                case IProblem.UndefinedType, IProblem.ImportNotFound -> true;
                // A name with a dot is that of a package or type; without one a variable that the hole may have declared.
                case IProblem.UndefinedName -> where.indexOf('.') >= 0;
                default -> false;
            };
            if (isMissing) {
                names.addAll(List.of(where.split("[^\\p{javaJavaIdentifierPart}]+")));
            }
        }
        return names;
    }

    /** What the classes of the text that the working copy has now declare. */
    static Structure structure(Session session) throws JavaModelException {
        return Structure.of(run(session, false).classes);
    }

    /** The errors of other files against the text that the working copy has now. */
    static Map<ICompilationUnit, List<Problem>> problemsOf(Session session, List<ICompilationUnit> units)
            throws JavaModelException {
        Map<ICompilationUnit, List<Problem>> found = new HashMap<>();
        // Other files see the working copy by what the Java model knows of it, not by its text.
        session.workingCopy().makeConsistent(null);
        for (ICompilationUnit unit : units) {
            found.put(unit, problems(unit.getSource(), run(session, unit, false).problems, unit.getPath().toString()));
        }
        return found;
    }

    private static Finder run(Session session, boolean recover) throws JavaModelException {
        return run(session, session.workingCopy(), recover);
    }

    private static Finder run(Session session, ICompilationUnit unit, boolean recover) throws JavaModelException {
        SearchableEnvironment environment = new SearchableEnvironment(
            (JavaProject) session.project(), new ICompilationUnit[] {session.workingCopy()});
        CompilerOptions options = new CompilerOptions(session.project().getOptions(true));
        options.performMethodsFullRecovery = recover;
        options.performStatementsRecovery = recover;
        options.processAnnotations = false;
        List<CategorizedProblem> problems = new ArrayList<>();
        List<ClassFile> classes = new ArrayList<>();
        Finder finder = new Finder(environment, options, problems, classes, result -> {
            if (result.getErrors() != null) {
                problems.addAll(List.of(result.getErrors()));
            }
            classes.addAll(List.of(result.getClassFiles()));
        });
        try {
            finder.compile(new org.eclipse.jdt.internal.compiler.env.ICompilationUnit[] {
                (org.eclipse.jdt.internal.compiler.env.ICompilationUnit) unit});
        } finally {
            environment.cleanup();
        }
        return finder;
    }

    private static List<Problem> problems(String text, List<CategorizedProblem> found, String file) {
        return found.stream().map(problem -> {
            int start = Math.clamp(problem.getSourceStart(), 0, text.length());
            int end = Math.clamp(problem.getSourceEnd() + 1, start, text.length());
            int lineStart = text.lastIndexOf('\n', start - 1) + 1;
            int lineEnd = text.indexOf('\n', lineStart);
            String line = text.substring(lineStart, lineEnd < 0 ? text.length() : lineEnd);
            int id = problem.getID() & IProblem.IgnoreCategoriesMask;
            return new Problem(id, isSyntax(problem), start, end, line, problem.getMessage(), file);
        }).toList();
    }

    private static boolean isSyntax(IProblem problem) {
        return (problem.getID() & IProblem.Syntax) != 0;
    }

    /** The compiler proper; it looks at the unit's bindings while they are alive. */
    private static final class Finder extends CompilationUnitProblemFinder {
        private final List<CategorizedProblem> problems;
        private final List<ClassFile> classes;
        private final Set<String> importedNames = new HashSet<>();
        private boolean namesKnown = true;

        Finder(
                SearchableEnvironment environment, CompilerOptions options, List<CategorizedProblem> problems,
                List<ClassFile> classes, ICompilerRequestor requestor) {
            super(environment, DefaultErrorHandlingPolicies.proceedWithAllProblems(), options, requestor,
                new DefaultProblemFactory(Locale.ENGLISH));
            this.problems = problems;
            this.classes = classes;
            useSingleThread = true;
        }

        @Override
        public void process(CompilationUnitDeclaration unit, int index) {
            super.process(unit, index);
            lookAtImports(unit);
            if (unit.types != null) {
                for (TypeDeclaration type : unit.types) {
                    lookAtType(type);
                }
            }
            for (LocalTypeBinding local : unit.localTypes.values()) {
                namesKnown &= Hierarchy.of(local).isComplete();
            }
        }

        private void lookAtType(TypeDeclaration type) {
            namesKnown &= type.binding != null && Hierarchy.of(type.binding).isComplete();
            for (TypeDeclaration member : type.memberTypes == null ? new TypeDeclaration[0] : type.memberTypes) {
                lookAtType(member);
            }
        }

        private void lookAtImports(CompilationUnitDeclaration unit) {
            int onDemand = 0;
            for (ImportReference reference : unit.imports == null ? new ImportReference[0] : unit.imports) {
                if ((reference.bits & ASTNode.OnDemand) != 0) {
                    onDemand++;
                } else {
                    importedNames.add(new String(reference.tokens[reference.tokens.length - 1]));
                }
            }
            for (ImportBinding binding : unit.scope == null ? new ImportBinding[0] : unit.scope.imports) {
                boolean counts = binding.onDemand && binding.reference != null;
                if (counts && binding.getResolvedImport() instanceof TypeBinding type) {
                    Hierarchy hierarchy = Hierarchy.of(type);
                    namesKnown &= hierarchy.isComplete();
                    hierarchy.addMemberNames(importedNames);
                }
                onDemand -= counts ? 1 : 0;
            }
            // An on-demand import that was not found may bring any name.
            namesKnown &= onDemand == 0;
        }
    }
}
