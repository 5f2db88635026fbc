package repair.jdtls;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.eclipse.jdt.core.CompletionContext;
import org.eclipse.jdt.core.CompletionProposal;
import org.eclipse.jdt.core.CompletionRequestor;
import org.eclipse.jdt.core.Flags;
import org.eclipse.jdt.internal.codeassist.InternalCompletionContext;
import org.eclipse.jdt.internal.compiler.ast.ASTNode;

/**
 * Takes in what the completion engine proposes for one caret, with the syntax node that it recognised there. Its
 * {@code completionFailure} is left alone: it says that nothing was proposed while the unit has some problem, and the
 * word at the caret is one where no name begins with it.
 */
final class Proposals extends CompletionRequestor {
    private static final int[] NAMES = {
        CompletionProposal.FIELD_REF, CompletionProposal.LOCAL_VARIABLE_REF, CompletionProposal.METHOD_REF,
        CompletionProposal.LABEL_REF, CompletionProposal.ANNOTATION_ATTRIBUTE_REF, CompletionProposal.LAMBDA_EXPRESSION,
    };
    private static final int[] TYPES = {
        CompletionProposal.TYPE_REF, CompletionProposal.PACKAGE_REF, CompletionProposal.LAMBDA_EXPRESSION,
    };
    private static final int[] MEMBERS = {
        CompletionProposal.FIELD_REF, CompletionProposal.METHOD_REF, CompletionProposal.METHOD_NAME_REFERENCE,
        CompletionProposal.TYPE_REF, CompletionProposal.PACKAGE_REF,
    };

    private final Completion.Scope scope;
    private final List<CompletionProposal> all = new ArrayList<>();
    private InternalCompletionContext context;

    Proposals(Completion.Scope scope) {
        super(true);
        this.scope = scope;
        setRequireExtendedContext(true);
        for (int kind : switch (scope) { case NAMES -> NAMES; case TYPES -> TYPES; case MEMBERS -> MEMBERS; }) {
            setIgnored(kind, false);
        }
    }

    @Override
    public void accept(CompletionProposal proposal) {
        if (proposal.getKind() != CompletionProposal.LOCAL_VARIABLE_REF || !isMerelyUsed()) {
            all.add(proposal);
        }
    }

    /**
     * Whether the engine is about to propose a name that the method uses and nobody declares. It looks like a local
     * variable of type {@code Object}; only the engine's own method tells the two apart.
     */
    private static boolean isMerelyUsed() {
        return StackWalker.getInstance().walk(frames ->
            frames.limit(4).anyMatch(frame -> frame.getMethodName().equals("acceptUnresolvedName")));
    }

    @Override
    public void acceptContext(CompletionContext given) {
        context = given instanceof InternalCompletionContext known && !given.isInJavadoc() ? known : null;
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    /** The syntax node at the caret; null where the engine recognised none. */
    ASTNode node() {
        return context == null ? null : context.getCompletionNode();
    }

    /** The part of the word before the caret; empty where there is none. */
    String token() {
        return context.getToken() == null ? "" : new String(context.getToken());
    }

    char[][] expectedTypes() {
        return context.getExpectedTypesSignatures();
    }

    boolean hasLambda() {
        return all.stream().anyMatch(proposal -> proposal.getKind() == CompletionProposal.LAMBDA_EXPRESSION);
    }

    /** Whether there are proposals and all are constants of enums. */
    boolean areEnumConstants() {
        return !all.isEmpty() && all.stream().allMatch(proposal ->
            proposal.getKind() == CompletionProposal.FIELD_REF && Flags.isEnum(proposal.getFlags()));
    }

    /** Simple names that may stand at {@code caret} in {@code file}. */
    Set<String> names(String file, int caret) {
        Set<String> names = new HashSet<>();
        for (CompletionProposal proposal : all) {
            switch (proposal.getKind()) {
                case CompletionProposal.TYPE_REF, CompletionProposal.PACKAGE_REF -> qualified(proposal, file, caret, names);
                case CompletionProposal.LABEL_REF -> names.add(new String(proposal.getCompletion()));
                default -> names.add(new String(proposal.getName()));
            }
        }
        return names;
    }

    /**
     * A type or package is proposed with a qualifier: the one that was typed (its next segment is the name), or one that
     * it would need to be imported from (then its simple name is of no use here, except below a receiver).
     */
    private void qualified(CompletionProposal proposal, String file, int caret, Set<String> names) {
        String completion = new String(proposal.getCompletion());
        segments(completion, proposal, file, caret, names);
        // A nested class of a class file, or a name with a dollar of its own: only the class file knows.
        if (completion.indexOf('$') >= 0) {
            segments(completion.replace('$', '.'), proposal, file, caret, names);
        }
    }

    private void segments(String completion, CompletionProposal proposal, String file, int caret, Set<String> names) {
        if (scope == Completion.Scope.MEMBERS) {
            String typed = file.substring(Math.min(proposal.getReplaceStart(), caret), caret);
            String rest = completion.startsWith(typed) ? completion.substring(typed.length()) : completion;
            names.addAll(List.of(rest.split("\\.")));
        } else if (proposal.getKind() == CompletionProposal.PACKAGE_REF) {
            names.add(completion.split("\\.")[0]);
        } else if (completion.indexOf('.') < 0) {
            names.add(completion);
        }
    }
}
