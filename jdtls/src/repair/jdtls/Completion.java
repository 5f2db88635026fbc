package repair.jdtls;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.eclipse.jdt.core.Signature;

/**
 * One completion question and its verdict. A list is given only where it is known to hold every identifier of the asked
 * kinds that may stand at the caret; everything else, an exception included, is unknown with its reason.
 */
final class Completion {
    /** What is listed. */
    enum Scope { MEMBERS, NAMES, TYPES }

    /** {@code kind} is {@code list}, {@code unknown} (with a reason) or {@code late} (the time was up). */
    record Verdict(String kind, String reason, List<String> names) {
        static Verdict unknown(String reason) {
            return new Verdict("unknown", reason, List.of());
        }
    }

    private static final Set<String> NAME_NODES = Set.of(
        "CompletionOnSingleNameReference", "CompletionOnSingleTypeReference", "CompletionOnBreakStatement",
        "CompletionOnContinueStatement");

    private final Session session;
    private final String hole;
    private final Scope scope;
    private final HoleText text;

    private Completion(Session session, String hole, Scope scope, HoleText text) {
        this.session = session;
        this.hole = hole;
        this.scope = scope;
        this.text = text;
    }

    static Verdict answer(Session session, Arguments given) {
        Scope scope = Scope.valueOf(given.text("scope").toUpperCase(Locale.ROOT));
        String hole = given.text("hole");
        long end = System.nanoTime() + given.number("timeout_ms") * 1_000_000L;
        synchronized (session) {
            HoleText text = session.read(hole);
            if (text == null) {
                return Verdict.unknown("comment_or_literal");
            }
            Completion question = new Completion(session, hole, scope, text);
            String doubt = question.doubtBefore();
            return doubt == null ? question.ask(end) : Verdict.unknown(doubt);
        }
    }

    /** What forbids a list whatever the engine says. */
    private String doubtBefore() {
        if (!session.surroundings().parsed()) {
            return "unparsed_file";
        }
        if (text.isUnbalanced()) {
            return "unbalanced_hole";
        }
        if (text.isInOwnType()) {
            return "type_in_hole";
        }
        if (hole.indexOf('\\') >= 0 && hole.contains("\\u")) {
            return "unicode_escape";
        }
        return scope == Scope.MEMBERS ? doubtOfReceiver() : doubtOfWord();
    }

    private String doubtOfReceiver() {
        return text.followsReceiver() ? null : "no_receiver";
    }

    private String doubtOfWord() {
        if (!session.inBody()) {
            return "outside_body";
        }
        if (!session.surroundings().namesKnown()) {
            return "missing_supertype_or_import";
        }
        if (text.word() == null) {
            return "no_word";
        }
        if (text.isDeclaring()) {
            return "declaring";
        }
        if (text.isAfterQualifiedNew()) {
            return "qualified_new";
        }
        return scope == Scope.TYPES && text.isInCaseLabel() ? "case_label" : null;
    }

    private Verdict ask(long end) {
        Question question = new Question(session, scope, end);
        int caret = session.prefix().length() + hole.length();
        String file = withoutNew(session.unfinished(hole, text));
        Verdict failure = question.put(file, caret);
        if (failure != null) {
            return failure;
        }
        String doubt = doubtAfter(question.proposals());
        return doubt == null ? list(question.proposals(), file, caret) : Verdict.unknown(doubt);
    }

    /**
     * After {@code new} the engine thinks of constructors: it leaves out types of this unit and all nested ones. Without it
     * the same types are listed as anywhere else, and some that cannot be created.
     */
    private String withoutNew(String file) {
        int at = scope == Scope.NAMES ? -1 : text.newOfCaret();
        return at < 0 ? file : file.substring(0, at) + "   " + file.substring(at + "new".length());
    }

    private String doubtAfter(Proposals proposals) {
        if (proposals.node() == null) {
            return "no_node";
        }
        return scope == Scope.MEMBERS ? doubtOfMembers(proposals) : doubtOfNames(proposals);
    }

    private String doubtOfMembers(Proposals proposals) {
        if (!proposals.token().isEmpty()) {
            return "token";
        }
        return new Receiver(proposals.node(), session).doubt(proposals.isEmpty());
    }

    private String doubtOfNames(Proposals proposals) {
        if (!text.word().equals(proposals.token())) {
            return "token";
        }
        String node = proposals.node().getClass().getSimpleName();
        if (!NAME_NODES.contains(node)) {
            return node;
        }
        if (proposals.hasLambda()) {
            return "lambda";
        }
        if (text.isInCaseLabel() && !proposals.areEnumConstants()) {
            return "case_label";
        }
        if (text.mayBeCastOperand() || text.mayBeLambdaParameter() && !isNoLambda(proposals.expectedTypes())) {
            return "maybe_lambda";
        }
        return null;
    }

    /** Whether the expected types are known and none can be a functional interface that the engine does not see. */
    private static boolean isNoLambda(char[][] expected) {
        return expected != null && expected.length > 0
            && Arrays.stream(expected).map(String::new).allMatch(Completion::isConcrete);
    }

    /** The engine itself proposes a lambda for a functional interface; not so for a variable's or an array's element. */
    private static boolean isConcrete(String signature) {
        return switch (Signature.getTypeSignatureKind(signature)) {
            case Signature.BASE_TYPE_SIGNATURE, Signature.CLASS_TYPE_SIGNATURE -> true;
            case Signature.ARRAY_TYPE_SIGNATURE -> {
                String element = Signature.getElementType(signature);
                yield Signature.getTypeSignatureKind(element) == Signature.BASE_TYPE_SIGNATURE
                    || element.equals("Ljava.lang.Object;") || element.equals("Ljava.lang.String;");
            }
            default -> false;
        };
    }

    private Verdict list(Proposals proposals, String file, int caret) {
        TreeSet<String> names = new TreeSet<>(proposals.names(file, caret));
        names.addAll(session.missingNames());
        if (scope != Scope.MEMBERS) {
            names.addAll(session.importedNames());
            if (scope == Scope.NAMES) {
                names.addAll(text.declaredNames());
            }
            names.removeIf(name -> !name.startsWith(text.word()));
        }
        return new Verdict("list", null, List.copyOf(names));
    }
}
