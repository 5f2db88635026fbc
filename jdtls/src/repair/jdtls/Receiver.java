package repair.jdtls;

import org.eclipse.jdt.internal.codeassist.complete.CompletionOnMemberAccess;
import org.eclipse.jdt.internal.codeassist.complete.CompletionOnQualifiedNameReference;
import org.eclipse.jdt.internal.codeassist.complete.CompletionOnQualifiedTypeReference;
import org.eclipse.jdt.internal.codeassist.complete.CompletionOnReferenceExpressionName;
import org.eclipse.jdt.internal.compiler.ASTVisitor;
import org.eclipse.jdt.internal.compiler.ast.ASTNode;
import org.eclipse.jdt.internal.compiler.ast.AllocationExpression;
import org.eclipse.jdt.internal.compiler.ast.Expression;
import org.eclipse.jdt.internal.compiler.ast.MessageSend;
import org.eclipse.jdt.internal.compiler.lookup.Binding;
import org.eclipse.jdt.internal.compiler.lookup.BlockScope;
import org.eclipse.jdt.internal.compiler.lookup.PackageBinding;
import org.eclipse.jdt.internal.compiler.lookup.TypeBinding;
import org.eclipse.jdt.internal.compiler.lookup.VariableBinding;

/** The expression, type or package before the dot at the caret: whether it is known so well that its members are. */
record Receiver(ASTNode node, Session session) {
    /** Why its members are not known, or null. {@code none}: the engine proposes none. */
    String doubt(boolean none) {
        if (node instanceof CompletionOnMemberAccess access) {
            return isBroken(access.receiver) ? "unresolved_receiver" : doubtOfType(access.receiver.resolvedType, none);
        }
        if (node instanceof CompletionOnReferenceExpressionName reference) {
            return isBroken(reference.lhs) ? "unresolved_receiver" : doubtOfType(reference.lhs.resolvedType, none);
        }
        if (node instanceof CompletionOnQualifiedNameReference name) {
            return doubtOfBinding(name.binding, none);
        }
        if (node instanceof CompletionOnQualifiedTypeReference && session.inBody()) {
            return none ? "qualified_type" : null;
        }
        return node.getClass().getSimpleName();
    }

    private String doubtOfBinding(Binding binding, boolean none) {
        if (binding == null || !binding.isValidBinding()) {
            return "unresolved_receiver";
        }
        if (binding instanceof VariableBinding variable) {
            return doubtOfType(variable.type, none);
        }
        if (binding instanceof TypeBinding type) {
            return doubtOfType(type, none);
        }
        return binding instanceof PackageBinding && !none ? null : "unresolved_receiver";
    }

    private String doubtOfType(TypeBinding type, boolean none) {
        if (type == null || !type.isValidBinding()) {
            return "unresolved_receiver";
        }
        if (type.isBaseType()) {
            return null;
        }
        Hierarchy hierarchy = Hierarchy.of(type.leafComponentType());
        if (!hierarchy.isComplete()) {
            return "missing_supertype";
        }
        if (!session.inBody() && hierarchy.isDeclaredIn(session.workingCopy().getElementName())) {
            return "outside_body";
        }
        // Every reference type has some member.
        return none ? "no_members" : null;
    }

    /** Whether some part of the expression did not resolve, so that its type may be a guess. */
    private static boolean isBroken(Expression receiver) {
        boolean[] broken = {receiver.resolvedType == null || !receiver.resolvedType.isValidBinding()};
        receiver.traverse(new ASTVisitor() {
            @Override
            public boolean visit(MessageSend call, BlockScope scope) {
                broken[0] |= call.binding != null && !call.binding.isValidBinding();
                return true;
            }

            @Override
            public boolean visit(AllocationExpression creation, BlockScope scope) {
                broken[0] |= creation.binding != null && !creation.binding.isValidBinding();
                return true;
            }
        }, (BlockScope) null);
        return broken[0];
    }
}
