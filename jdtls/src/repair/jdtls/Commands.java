package repair.jdtls;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import org.eclipse.core.runtime.IProgressMonitor;
import org.eclipse.jdt.ls.core.internal.IDelegateCommandHandler;

/** The bundle's one door: each {@code repair.*} command with its JSON arguments goes to the class that answers it. */
public final class Commands implements IDelegateCommandHandler {
    /** The server may make one instance for each command, so the sessions belong to the class. */
    private static final Sessions SESSIONS = new Sessions();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** A reply with the processor time that this thread spent on it. */
    private record Answered(Object value, long cpu_micros) {}

    @Override
    public Object executeCommand(String command, List<Object> arguments, IProgressMonitor monitor) throws Exception {
        long before = THREADS.getCurrentThreadCpuTime();
        Object value = answer(command, Arguments.of(arguments));
        return new Answered(value, (THREADS.getCurrentThreadCpuTime() - before) / 1000);
    }

    private static Object answer(String command, Arguments given) throws Exception {
        return switch (command) {
            case "repair.project" -> Projects.create(given);
            case "repair.open" -> SESSIONS.open(given);
            case "repair.visible" -> Visibility.answer(SESSIONS.get(given), given);
            case "repair.complete" -> Completion.answer(SESSIONS.get(given), given);
            case "repair.check" -> Compilation.check(SESSIONS.get(given), given);
            case "repair.compile" -> Compilation.writeClasses(SESSIONS.get(given), given);
            case "repair.close" -> SESSIONS.close(given);
            default -> throw new IllegalArgumentException("no such command: " + command);
        };
    }
}
