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

/**
 * Where a hole lies: the innermost body of a method, constructor or initialiser, or of a type, that holds it wholly.
 *
 * @param holeInBody whether that body is one of statements, not of members
 * @param start offset of the outermost statement body around the hole, so that locals can be found from there; 0 if none
 */
record Bodies(boolean holeInBody, int start) {
    static Bodies around(IJavaProject project, String text, int from, int to) {
        ASTParser parser = ASTParser.newParser(AST.getJLSLatest());
        Map<String, String> options = project.getOptions(true);
        parser.setCompilerOptions(options);
        parser.setKind(ASTParser.K_COMPILATION_UNIT);
        parser.setSource(text.toCharArray());
        Search search = new Search(from, to);
        ((CompilationUnit) parser.createAST(null)).accept(search);
        return new Bodies(search.innermostIsStatements, search.outermostStart);
    }

    /** Visits outer nodes before inner ones, so the last match is the innermost. */
    private static final class Search extends ASTVisitor {
        private final int from;
        private final int to;
        private boolean innermostIsStatements;
        private int outermostStart;

        Search(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        public boolean visit(Block block) {
            boolean isBody = block.getParent() instanceof MethodDeclaration || block.getParent() instanceof Initializer;
            if (isBody && holds(block.getStartPosition() + 1, end(block) - 1)) {
                innermostIsStatements = true;
                outermostStart = outermostStart == 0 ? block.getStartPosition() : outermostStart;
            }
            return true;
        }

        @Override
        public void preVisit(ASTNode node) {
            // Whatever part of a type holds the hole: only a statement body further in makes names known again.
            boolean isType = node instanceof AbstractTypeDeclaration || node instanceof AnonymousClassDeclaration;
            if (isType && holds(node.getStartPosition() + 1, end(node) - 1)) {
                innermostIsStatements = false;
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
