package repair.jdtls;

import java.util.List;
import org.eclipse.core.runtime.NullProgressMonitor;
import org.eclipse.core.runtime.OperationCanceledException;
import org.eclipse.jdt.core.JavaModelException;
import org.eclipse.jdt.internal.core.JavaModelManager;
import repair.jdtls.Completion.Scope;
import repair.jdtls.Completion.Verdict;

/** One run of the completion engine over a text; whoever runs it holds the session's monitor. */
final class Question {
    private final Session session;
    private final Proposals proposals;
    private final long end;

    /** {@code end}: when the time is up, as {@link System#nanoTime} counts. */
    Question(Session session, Scope scope, long end) {
        this.session = session;
        this.proposals = new Proposals(scope);
        this.end = end;
    }

    Proposals proposals() {
        return proposals;
    }

    /** Null if the proposals are all that the engine has to say; else why they are not. */
    Verdict put(String file, int caret) {
        boolean indexed = isIndexed();
        NullProgressMonitor monitor = new NullProgressMonitor() {
            @Override
            public boolean isCanceled() {
                return System.nanoTime() > end;
            }
        };
        try {
            session.setText(file);
            session.workingCopy().codeComplete(caret, proposals, session.owner(), monitor);
        } catch (OperationCanceledException late) {
            return new Verdict("late", null, List.of());
        } catch (JavaModelException | RuntimeException broken) {
            return Verdict.unknown("exception");
        }
        return indexed && isIndexed() ? null : Verdict.unknown("index_busy");
    }

    private static boolean isIndexed() {
        return JavaModelManager.getIndexManager().awaitingJobsCount() == 0;
    }
}
