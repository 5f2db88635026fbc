package repair.jdtls;

import java.util.ArrayList;
import java.util.List;
import org.eclipse.jdt.core.ToolFactory;
import org.eclipse.jdt.core.compiler.IScanner;
import org.eclipse.jdt.core.compiler.ITerminalSymbols;
import org.eclipse.jdt.core.compiler.InvalidInputException;

/**
 * The lexemes of a stretch of source, comments and white space left out.
 *
 * @param all in order, without the last one, which may go on in what is appended
 * @param open where the last lexeme (or comment, or white space) starts
 */
record Lexemes(List<Lexeme> all, int open) {
    /** A lexeme with its offset in the whole file. */
    record Lexeme(String text, int start) {
        boolean is(String other) {
            return text.equals(other);
        }

        boolean isWord() {
            return Character.isJavaIdentifierStart(text.charAt(0));
        }

        int end() {
            return start + text.length();
        }
    }

    static Lexemes of(String text, int from, String level) {
        List<Lexeme> raw = new ArrayList<>();
        boolean closed = scan(text, from, level, raw);
        if (raw.isEmpty()) {
            return new Lexemes(List.of(), from);
        }
        int open = raw.get(raw.size() - 1).start();
        raw.remove(raw.size() - 1);
        raw.removeIf(lexeme -> !isCode(lexeme));
        return new Lexemes(List.copyOf(raw), open);
    }

    /** All lexemes of {@code text} from {@code from} on, or null if the text ends inside a comment or a literal. */
    static List<Lexeme> complete(String text, int from, String level) {
        List<Lexeme> raw = new ArrayList<>();
        if (!scan(text, from, level, raw)) {
            return null;
        }
        if (!raw.isEmpty() && raw.get(raw.size() - 1).text().startsWith("//") && !text.endsWith("\n")) {
            return null;
        }
        raw.removeIf(lexeme -> !isCode(lexeme));
        return raw;
    }

    /** The first lexeme of {@code text}, or an empty text. */
    static String first(String text, String level) {
        IScanner scanner = ToolFactory.createScanner(false, false, false, level, level);
        scanner.setSource(text.toCharArray());
        try {
            boolean found = scanner.getNextToken() != ITerminalSymbols.TokenNameEOF;
            return found ? new String(scanner.getCurrentTokenSource()) : "";
        } catch (InvalidInputException noLexeme) {
            return "";
        }
    }

    /** Scans to the end; false if there is something at the end that is no lexeme yet. It is added as it is. */
    private static boolean scan(String text, int from, String level, List<Lexeme> into) {
        IScanner scanner = ToolFactory.createScanner(true, true, false, level, level);
        scanner.setSource(text.toCharArray());
        scanner.resetTo(from, text.length() - 1);
        try {
            while (scanner.getNextToken() != ITerminalSymbols.TokenNameEOF) {
                into.add(new Lexeme(
                    text.substring(scanner.getCurrentTokenStartPosition(), scanner.getCurrentTokenEndPosition() + 1),
                    scanner.getCurrentTokenStartPosition()));
            }
            return true;
        } catch (InvalidInputException notYetALexeme) {
            int start = scanner.getCurrentTokenStartPosition();
            into.add(new Lexeme(text.substring(start), start));
            return false;
        }
    }

    private static boolean isCode(Lexeme lexeme) {
        return !lexeme.text().isBlank() && !lexeme.text().startsWith("//") && !lexeme.text().startsWith("/*");
    }
}
