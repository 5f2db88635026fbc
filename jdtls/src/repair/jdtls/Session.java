package repair.jdtls;

import java.util.Set;
import org.eclipse.jdt.core.ICompilationUnit;
import org.eclipse.jdt.core.IJavaProject;
import org.eclipse.jdt.core.JavaCore;
import org.eclipse.jdt.core.JavaModelException;
import org.eclipse.jdt.core.WorkingCopyOwner;

/**
 * One open hole: the file's text around it and a working copy of its own. Its monitor is the lock: whoever sets the text
 * holds it until the question about that text is answered. Sessions do not share anything and may run side by side.
 */
final class Session {
    private final WorkingCopyOwner owner = new WorkingCopyOwner() {};
    private final ICompilationUnit workingCopy;
    private final String prefix;
    private final String suffix;
    private final int closed;
    private final int opened;
    private final Lexemes beforeHole;
    private final String next;
    private final String text;
    private final Bodies bodies;
    private final Surroundings surroundings;
    private final Dependents dependents = new Dependents(this);
    private Structure structure;

    /**
     * {@code prefix + original + suffix} is the buggy text, from which all that does not depend on the hole is taken;
     * {@code original} closes {@code closed} braces before it and leaves {@code opened} of its own open.
     */
    Session(ICompilationUnit unit, String prefix, String original, String suffix, int closed, int opened)
            throws JavaModelException {
        this.workingCopy = unit.getWorkingCopy(owner, null);
        this.prefix = prefix;
        this.suffix = suffix;
        this.closed = closed;
        this.opened = opened;
        this.text = prefix + original + suffix;
        this.bodies = Bodies.around(project(), text, prefix.length(), prefix.length() + original.length());
        this.beforeHole = Lexemes.of(prefix, bodies.start(), level());
        this.next = Lexemes.first(suffix, level());
        setText(text);
        this.surroundings = Compilation.surroundings(this);
    }

    boolean inBody() {
        return bodies.holeInBody();
    }

    /** The unpatched file. */
    String text() {
        return text;
    }

    Bodies bodies() {
        return bodies;
    }

    /** How many of the brackets before the hole it may close without leaving its body. */
    int closable() {
        HoleText empty = inBody() ? read(";") : null;
        return empty == null ? 0 : empty.closable();
    }

    /** The file with an unfinished hole: what it left open is closed, and the suffix stands at the depth that it expects. */
    String unfinished(String hole, HoleText read) {
        return prefix + hole + read.closing() + read.bridge(closed, opened) + suffix;
    }

    String prefix() {
        return prefix;
    }

    String suffix() {
        return suffix;
    }

    ICompilationUnit workingCopy() {
        return workingCopy;
    }

    WorkingCopyOwner owner() {
        return owner;
    }

    IJavaProject project() {
        return workingCopy.getJavaProject();
    }

    /** What the unpatched unit says about names that come from elsewhere. */
    Surroundings surroundings() {
        return surroundings;
    }

    /** The project's source level, e.g. {@code 1.8} or {@code 17}. */
    String level() {
        return project().getOption(JavaCore.COMPILER_SOURCE, true);
    }

    /** The lexemes of the hole's text, with what precedes them in the same body. */
    HoleText read(String hole) {
        return HoleText.of(beforeHole, prefix, hole, next, level(), bodies.innermost());
    }

    /** Names that imports make usable without qualification, whatever the completion engine says. */
    Set<String> importedNames() {
        return surroundings.importedNames();
    }

    /** Names of types and packages that are used and not found: missing from a list, they prove nothing. */
    Set<String> missingNames() {
        return surroundings.missingNames();
    }

    /** What the unpatched file declares. The working copy has another text afterwards. */
    Structure structure() throws JavaModelException {
        if (structure == null) {
            setText(text);
            structure = Compilation.structure(this);
        }
        return structure;
    }

    Dependents dependents() {
        return dependents;
    }

    void setText(String text) throws JavaModelException {
        workingCopy.getBuffer().setContents(text);
    }

    synchronized void close() throws JavaModelException {
        workingCopy.discardWorkingCopy();
    }
}
