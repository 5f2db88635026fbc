package repair.jdtls;

import java.util.List;
import org.eclipse.core.runtime.IProgressMonitor;
import org.eclipse.jdt.ls.core.internal.IDelegateCommandHandler;

/** The bundle's one door: each {@code repair.*} command with its JSON arguments goes to the class that answers it. */
public final class Commands implements IDelegateCommandHandler {
    /** The server may make one instance for each command, so the sessions belong to the class. */
    private static final Sessions SESSIONS = new Sessions();

    @Override
    public Object executeCommand(String command, List<Object> arguments, IProgressMonitor monitor) throws Exception {
        Arguments given = Arguments.of(arguments);
        return switch (command) {
            case "repair.project" -> Projects.create(given);
            case "repair.open" -> SESSIONS.open(given);
            case "repair.complete" -> Completion.answer(SESSIONS.get(given), given);
            case "repair.check" -> Compilation.check(SESSIONS.get(given), given);
            case "repair.compile" -> Compilation.writeClasses(SESSIONS.get(given), given);
            case "repair.close" -> SESSIONS.close(given);
            default -> throw new IllegalArgumentException("no such command: " + command);
        };
    }
}
