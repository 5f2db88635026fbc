package repair.jdtls;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import repair.jdtls.Lexemes.Lexeme;

/**
 * What can be told from the lexemes alone about a caret at the end of an unfinished hole. The parser of the completion
 * engine has to guess what unfinished text means; these are the facts that it shall not guess.
 */
final class HoleText {
    private static final Set<String> CONTROL =
        Set.of("if", "while", "for", "switch", "catch", "synchronized", "try");
    /** Keywords whose parentheses declare names for the block that follows, and for nothing else. */
    private static final Set<String> BLOCK_HEADERS = Set.of("for", "try", "catch");
    /** Keywords after which a word is used, not declared. */
    private static final Set<String> NOT_A_TYPE = Set.of(
        "return", "new", "throw", "else", "case", "instanceof", "assert", "yield", "do", "break", "continue", "goto",
        "extends", "implements", "throws", "super", "this", "default", "finally", "try", "import", "package", "static",
        "final", "when", "class", "interface", "enum");
    /** What may follow the hole inside parentheses without sticking to its last word. */
    private static final Set<String> SEPARATE = Set.of(
        ")", "]", ",", ";", "}", "+", "-", "*", "/", "%", "==", "!=", "&&", "||", "&", "|", "^", ">", ">=", "<=", "?");

    private final List<Lexeme> code;
    private final int caret;
    /** Indices into {@code code} of the brackets that the hole opened and did not close. */
    private final Deque<Integer> open = new ArrayDeque<>();
    private boolean unbalanced;
    /** Braces before the hole that it closes. */
    private int closedBraces;
    /** Brackets still open between the hole's body and the hole. */
    private final int closable;
    private final boolean holeInParentheses;
    private final String next;

    private HoleText(List<Lexeme> code, int holeStart, int caret, String next, int body) {
        this.code = code;
        this.caret = caret;
        this.next = next;
        Deque<Integer> outer = new ArrayDeque<>();
        for (int i = 0; i < code.size(); i++) {
            boolean inHole = code.get(i).start() >= holeStart;
            switch (code.get(i).text()) {
                case "(", "[", "{" -> (inHole ? open : outer).push(i);
                case ")", "]", "}" -> {
                    if (inHole && open.isEmpty()) {
                        closedBraces += code.get(i).text().equals("}") ? 1 : 0;
                        unbalanced |= outer.isEmpty() || code.get(outer.poll()).start() <= body;
                    } else {
                        (inHole ? open : outer).poll();
                    }
                }
                default -> { }
            }
        }
        this.closable = (int) outer.stream().filter(opening -> code.get(opening).start() > body).count();
        this.holeInParentheses = !outer.isEmpty() && !isStatementBrace(outer.peek());
    }

    /** {@code body}: where the body around the hole opens. Null if the text ends inside a comment or a literal. */
    static HoleText of(Lexemes beforeHole, String prefix, String hole, String next, String level, int body) {
        List<Lexeme> rest = Lexemes.complete(prefix + hole, beforeHole.open(), level);
        if (rest == null) {
            return null;
        }
        List<Lexeme> code = new ArrayList<>(beforeHole.all());
        code.addAll(rest);
        return new HoleText(code, prefix.length(), prefix.length() + hole.length(), next, body);
    }

    int closable() {
        return closable;
    }

    /** Whether the hole closes the body that it lies in: what it then declares may be used before. */
    boolean isUnbalanced() {
        return unbalanced;
    }

    /** Whether the caret is in the body of a class that the hole itself opened: its later members are not known. */
    boolean isInOwnType() {
        return open.stream().anyMatch(i -> at(i).equals("{") && isTypeBrace(i));
    }

    boolean followsReceiver() {
        return at(code.size() - 1).equals(".") || at(code.size() - 1).equals("::");
    }

    /** The word that ends at the caret, or null. */
    String word() {
        Lexeme last = code.isEmpty() ? null : code.get(code.size() - 1);
        return last != null && last.isWord() && last.end() == caret ? last.text() : null;
    }

    /** Whether the word at the caret follows a type, so that it is a name being declared (or no Java at all). */
    boolean isDeclaring() {
        int before = code.size() - 2;
        return at(before).equals("]") || before >= 0 && code.get(before).isWord() && !NOT_A_TYPE.contains(at(before));
    }

    /** Offset of the {@code new} that the receiver or word at the caret belongs to; -1 if there is none. */
    int newOfCaret() {
        int i = code.size() - 1;
        while (i >= 0 && (at(i).equals(".") || code.get(i).isWord() && !at(i).equals("new"))) {
            i--;
        }
        return at(i).equals("new") ? code.get(i).start() : -1;
    }

    /** Whether the word at the caret names the class of a qualified instance creation, {@code outer.new Inner}. */
    boolean isAfterQualifiedNew() {
        return at(code.size() - 2).equals("new") && at(code.size() - 3).equals(".");
    }

    boolean isInCaseLabel() {
        for (int i = code.size() - 1; i >= 0; i--) {
            switch (at(i)) {
                case "case" -> {
                    return true;
                }
                case ";", "{", "}", ":", "->" -> {
                    return false;
                }
                default -> { }
            }
        }
        return false;
    }

    /** Whether the word at the caret stands where Java's grammar allows the parameter of a lambda. */
    boolean mayBeLambdaParameter() {
        int before = code.size() - 2;
        while (at(before).equals("(")) {
            if (CONTROL.contains(at(before - 1))) {
                return false;
            }
            if (isCallee(before - 1)) {
                return true;
            }
            before--;
        }
        return switch (at(before)) {
            case "=", ",", "return", "yield", "->", "?" -> true;
            case "{" -> !isStatementBrace(before);
            case ")" -> !CONTROL.contains(at(opening(before) - 1));
            case ":" -> isConditional(before);
            default -> false;
        };
    }

    /** Whether the word at the caret is the operand of a cast, or looks like it. */
    boolean mayBeCastOperand() {
        int before = code.size() - 2;
        return at(before).equals(")") && !CONTROL.contains(at(opening(before) - 1));
    }

    /**
     * Names that the text declares in blocks that are still open at the caret. The completion engine knows them, too,
     * unless it had to mend the text; then they must not be lost. What a pattern or a loop without braces declares stays
     * until the surrounding block ends.
     */
    Set<String> declaredNames() {
        // For each open block the names with the index of their declaration.
        Deque<Map<String, Integer>> blocks = new ArrayDeque<>();
        Deque<Integer> braces = new ArrayDeque<>();
        blocks.push(new HashMap<>());
        for (int i = 0; i < code.size() - 1; i++) {
            switch (at(i)) {
                case "{" -> {
                    blocks.push(new HashMap<>());
                    braces.push(i);
                }
                case "}" -> {
                    if (!braces.isEmpty()) {
                        blocks.pop();
                        int header = header(braces.pop());
                        blocks.peek().values().removeIf(declared -> header >= 0 && declared > header);
                    }
                }
                case "->" -> lambdaParameters(i, blocks.peek());
                default -> {
                    if (code.get(i).isWord() && looksDeclared(i)) {
                        blocks.peek().put(at(i), i);
                    }
                }
            }
        }
        return blocks.stream().flatMap(names -> names.keySet().stream()).collect(Collectors.toSet());
    }

    /** Text that closes what the hole left open and keeps the suffix from sticking to the hole's last word. */
    String closing() {
        StringBuilder text = new StringBuilder();
        boolean endsBlock = false;
        for (int i : open) {
            endsBlock = isStatementBrace(i);
            text.append(switch (at(i)) {
                case "(" -> ")";
                case "[" -> "]";
                default -> endsBlock ? ";}" : "}";
            });
        }
        boolean separate = holeInParentheses && SEPARATE.contains(next);
        return endsBlock || separate ? text.toString() : text.append(';').toString();
    }

    /**
     * What leads from the braces that are open after the hole and its {@link #closing} to those that the suffix expects,
     * if the buggy text closes {@code closed} braces before it and leaves {@code opened} of its own open.
     */
    String bridge(int closed, int opened) {
        int more = closedBraces - closed;
        return "}".repeat(Math.max(0, -more)) + "{".repeat(Math.max(0, more) + opened);
    }

    private String at(int i) {
        return i >= 0 && i < code.size() ? code.get(i).text() : "";
    }

    private boolean isCallee(int i) {
        return i >= 0 && (at(i).equals(">") || code.get(i).isWord() && (!NOT_A_TYPE.contains(at(i)) || isSelf(i)));
    }

    private boolean isSelf(int i) {
        return at(i).equals("this") || at(i).equals("super");
    }

    /** A brace that holds statements or members, not the elements of an array. */
    private boolean isStatementBrace(int i) {
        String before = at(i - 1);
        return at(i).equals("{") && !before.equals("]") && !before.equals("=") && !before.equals(",")
            && !before.equals("(") && !(before.equals("{") && i > 0 && !isStatementBrace(i - 1));
    }

    private boolean isTypeBrace(int brace) {
        if (at(brace - 1).equals(")")) {
            int i = opening(brace - 1) - 1;
            while (i >= 0 && !at(i).equals("new") && (code.get(i).isWord() || ".<>,?@&[]".contains(at(i)))) {
                i--;
            }
            if (at(i).equals("new")) {
                return true;
            }
        }
        for (int i = brace - 1; i >= 0 && !at(i).equals(";") && !at(i).equals("{") && !at(i).equals("}"); i--) {
            boolean keyword = at(i).equals("class") || at(i).equals("interface") || at(i).equals("enum");
            boolean header = at(i).equals("record") && i + 1 < brace && code.get(i + 1).isWord();
            if (header || keyword && !at(i - 1).equals(".")) {
                return true;
            }
        }
        return false;
    }

    /** Index of the bracket that the one at {@code closing} closes; -1 if it is not here. */
    private int opening(int closing) {
        int depth = 0;
        for (int i = closing; i >= 0; i--) {
            switch (at(i)) {
                case ")", "]", "}" -> depth++;
                case "(", "[", "{" -> depth--;
                default -> { }
            }
            if (depth == 0) {
                return i;
            }
        }
        return -1;
    }

    /** Whether a colon belongs to {@code ? :} and not to a label or an enhanced {@code for}. */
    private boolean isConditional(int colon) {
        for (int i = colon - 1; i >= 0; i--) {
            switch (at(i)) {
                case "?" -> {
                    return true;
                }
                case ";", "{", "}", "case", "default" -> {
                    return false;
                }
                default -> { }
            }
        }
        return false;
    }

    /** A word after something that can end a type; after a comma, where further variables are declared. */
    private boolean looksDeclared(int i) {
        String before = at(i - 1);
        if (before.equals(",")) {
            return "=,;:)".contains(at(i + 1));
        }
        boolean afterWord = i > 0 && code.get(i - 1).isWord() && !NOT_A_TYPE.contains(before);
        return afterWord || before.equals("]") || before.startsWith(">") || before.equals("...") || at(i + 1).equals("=");
    }

    /** Start of the header whose names end with the block that opens at {@code brace}; -1 if it has none. */
    private int header(int brace) {
        int parenthesis = at(brace - 1).equals(")") ? opening(brace - 1) : -1;
        return BLOCK_HEADERS.contains(at(parenthesis - 1)) ? parenthesis : -1;
    }

    private void lambdaParameters(int arrow, Map<String, Integer> into) {
        int from = at(arrow - 1).equals(")") ? opening(arrow - 1) : arrow - 1;
        for (int i = Math.max(from, 0); i < arrow; i++) {
            if (code.get(i).isWord()) {
                into.put(at(i), i);
            }
        }
    }
}
