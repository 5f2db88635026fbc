package repair.jdtls;

import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import repair.jdtls.Completion.Scope;
import repair.jdtls.Completion.Verdict;

/**
 * What is visible where a hole begins, whatever the hole will say. The completion engine is asked at the beginning of a
 * statement of its own, put before the one that the hole is in: the position that it understands best. What that statement
 * declares before the hole (a loop's variable, a lambda's parameter) is read off the text. Of a hole in no body the members
 * that are there already are visible; the hole may declare more.
 */
final class Visibility {
    private Visibility() {}

    static Verdict answer(Session session, Arguments given) {
        Scope scope = Scope.valueOf(given.text("scope").toUpperCase(Locale.ROOT));
        String first = given.text("first");
        long end = System.nanoTime() + given.number("timeout_ms") * 1_000_000L;
        synchronized (session) {
            String doubt = doubt(session);
            return doubt == null ? ask(session, scope, first, end) : Verdict.unknown(doubt);
        }
    }

    private static String doubt(Session session) {
        if (!session.surroundings().parsed()) {
            return "unparsed_file";
        }
        if (session.bodies().typeEnd() < 0) {
            return "outside_type";
        }
        return session.surroundings().namesKnown() ? null : "missing_supertype_or_import";
    }

    /** What opens a method at the end of the type where the hole is in no body. */
    private static String before(Session session) {
        if (session.inBody()) {
            return "";
        }
        return (session.bodies().inInterface() ? ";default" : ";") + " void repair$(){";
    }

    private static Verdict ask(Session session, Scope scope, String first, long end) {
        // The last lexeme is never a declared name, so one is put there.
        HoleText declared = session.read(";");
        if (declared == null) {
            return Verdict.unknown("comment_or_literal");
        }
        String before = before(session);
        int at = session.inBody() ? session.bodies().statement() : session.bodies().typeEnd();
        int caret = at + before.length() + first.length();
        String file = session.text().substring(0, at) + before + first + (session.inBody() ? ";\n" : ";}\n")
            + session.text().substring(at);
        Question question = new Question(session, scope, end);
        Verdict failure = question.put(file, caret);
        if (failure != null) {
            return failure;
        }
        Proposals proposals = question.proposals();
        if (proposals.node() == null || !first.equals(proposals.token())) {
            return Verdict.unknown("no_statement");
        }
        TreeSet<String> names = new TreeSet<>(proposals.names(file, caret));
        names.addAll(session.importedNames());
        names.addAll(session.missingNames());
        if (scope == Scope.NAMES) {
            names.addAll(declared.declaredNames());
        }
        names.removeIf(name -> !name.startsWith(first));
        return new Verdict("list", null, List.copyOf(names));
    }
}
