package repair.jdtls;

import java.io.File;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.core.resources.IFile;
import org.eclipse.core.resources.ResourcesPlugin;
import org.eclipse.jdt.core.ICompilationUnit;
import org.eclipse.jdt.core.JavaCore;
import org.eclipse.jdt.core.JavaModelException;

/** The open holes, by the name that the client gave them. */
final class Sessions {
    private final Map<String, Session> sessions = new ConcurrentHashMap<>();

    /**
     * {@code found}: the file belongs to a source root of the project; {@code body}: the hole lies in a body;
     * {@code closable}: how many brackets before the hole it may close without leaving that body.
     */
    record Opened(boolean found, boolean body, int closable) {}

    Opened open(Arguments given) throws JavaModelException {
        close(given);
        ICompilationUnit unit = unit(given.text("path"));
        if (unit == null) {
            return new Opened(false, false, 0);
        }
        Session session = new Session(unit, given.text("prefix"), given.text("original"), given.text("suffix"),
            given.number("closed"), given.number("opened"));
        sessions.put(given.text("session"), session);
        return new Opened(true, session.inBody(), session.closable());
    }

    Session get(Arguments given) {
        Session session = sessions.get(given.text("session"));
        if (session == null) {
            throw new IllegalArgumentException("no such session");
        }
        return session;
    }

    /** Answers whether there was such a session. Waits for its running question, if there is one. */
    boolean close(Arguments given) throws JavaModelException {
        Session session = sessions.remove(given.text("session"));
        if (session != null) {
            session.close();
        }
        return session != null;
    }

    private static ICompilationUnit unit(String path) {
        for (IFile file : ResourcesPlugin.getWorkspace().getRoot().findFilesForLocationURI(new File(path).toURI())) {
            if (JavaCore.create(file) instanceof ICompilationUnit unit && unit.getJavaProject().isOnClasspath(unit)) {
                return unit;
            }
        }
        return null;
    }
}
