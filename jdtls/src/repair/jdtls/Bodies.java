package repair.jdtls;

import java.util.Map;
import org.eclipse.jdt.core.IJavaProject;
import org.eclipse.jdt.core.dom.AST;
import org.eclipse.jdt.core.dom.ASTNode;
import org.eclipse.jdt.core.dom.ASTParser;
import org.eclipse.jdt.core.dom.ASTVisitor;
import org.eclipse.jdt.core.dom.AbstractTypeDeclaration;
import org.eclipse.jdt.core.dom.AnonymousClassDeclaration;
import org.eclipse.jdt.core.dom.Block;
import org.eclipse.jdt.core.dom.CompilationUnit;
import org.eclipse.jdt.core.dom.Initializer;
import org.eclipse.jdt.core.dom.MethodDeclaration;
import org.eclipse.jdt.core.dom.TypeDeclaration;

/**
 * Where a hole lies: the innermost body of a method, constructor or initialiser, or of a type, that holds it wholly.
 *
 * @param holeInBody whether that body is one of statements, not of members
 * @param start offset of the outermost statement body around the hole, so that locals can be found from there; 0 if none
 * @param statement where a statement of its own can be put so that it sees what the hole's beginning sees, but for what
 *     the hole's own statement declares before the hole; -1 if the hole is in no block
 * @param innermost offset of the innermost statement body around the hole; 0 if none
 * @param typeEnd offset of the closing brace of the innermost type around the hole; -1 if there is none
 * @param inInterface whether that type is an interface
 */
record Bodies(boolean holeInBody, int start, int innermost, int statement, int typeEnd, boolean inInterface) {
    static Bodies around(IJavaProject project, String text, int from, int to) {
        ASTParser parser = ASTParser.newParser(AST.getJLSLatest());
        Map<String, String> options = project.getOptions(true);
        parser.setCompilerOptions(options);
        parser.setKind(ASTParser.K_COMPILATION_UNIT);
        parser.setSource(text.toCharArray());
        Search search = new Search(from, to);
        ((CompilationUnit) parser.createAST(null)).accept(search);
        return new Bodies(search.innermostIsStatements, search.outermostStart, search.innermostStart, search.statement,
            search.typeEnd, search.inInterface);
    }

    /** Visits outer nodes before inner ones, so the last match is the innermost. */
    private static final class Search extends ASTVisitor {
        private final int from;
        private final int to;
        private boolean innermostIsStatements;
        private int outermostStart;
        private int innermostStart;
        private int statement = -1;
        private int typeEnd = -1;
        private boolean inInterface;

        Search(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        public boolean visit(Block block) {
            boolean isBody = block.getParent() instanceof MethodDeclaration || block.getParent() instanceof Initializer;
            if (isBody && holds(block.getStartPosition() + 1, end(block) - 1)) {
                innermostIsStatements = true;
                innermostStart = block.getStartPosition();
                outermostStart = outermostStart == 0 ? block.getStartPosition() : outermostStart;
            }
            if (block.getStartPosition() < from && from < end(block)) {
                statement = statementAt(block);
            }
            return true;
        }

        /** Start of the block's statement that the hole begins in, or where the hole begins between two of them. */
        private int statementAt(Block block) {
            for (Object each : block.statements()) {
                ASTNode node = (ASTNode) each;
                if (node.getStartPosition() <= from && from < end(node)) {
                    return node.getStartPosition();
                }
            }
            return from;
        }

        @Override
        public void preVisit(ASTNode node) {
            // Whatever part of a type holds the hole: only a statement body further in makes names known again.
            boolean isType = node instanceof AbstractTypeDeclaration || node instanceof AnonymousClassDeclaration;
            if (isType && holds(node.getStartPosition() + 1, end(node) - 1)) {
                innermostIsStatements = false;
                typeEnd = end(node) - 1;
                inInterface = node instanceof TypeDeclaration declared && declared.isInterface();
            }
        }

        private boolean holds(int start, int end) {
            return start <= from && to <= end;
        }

        private static int end(ASTNode node) {
            return node.getStartPosition() + node.getLength();
        }
    }
}
