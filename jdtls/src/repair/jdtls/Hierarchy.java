package repair.jdtls;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Set;
import org.eclipse.jdt.core.compiler.CharOperation;
import org.eclipse.jdt.internal.compiler.lookup.FieldBinding;
import org.eclipse.jdt.internal.compiler.lookup.MethodBinding;
import org.eclipse.jdt.internal.compiler.lookup.ReferenceBinding;
import org.eclipse.jdt.internal.compiler.lookup.TagBits;
import org.eclipse.jdt.internal.compiler.lookup.TypeBinding;
import org.eclipse.jdt.internal.compiler.lookup.TypeVariableBinding;
import org.eclipse.jdt.internal.compiler.lookup.WildcardBinding;

/** A type with all its supertypes, as far as they were found. */
record Hierarchy(Set<TypeBinding> types) {
    static Hierarchy of(TypeBinding type) {
        Set<TypeBinding> types = new LinkedHashSet<>();
        Deque<TypeBinding> waiting = new ArrayDeque<>();
        waiting.add(type);
        while (!waiting.isEmpty()) {
            TypeBinding next = waiting.pop();
            if (next == null || !types.add(next)) {
                continue;
            }
            if (next instanceof TypeVariableBinding variable && variable.firstBound != null) {
                waiting.add(variable.firstBound);
            }
            if (next instanceof WildcardBinding wildcard && wildcard.bound != null) {
                waiting.add(wildcard.bound);
            }
            if (next instanceof ReferenceBinding reference && next.isValidBinding()) {
                addAll(waiting, reference.superclass());
                addAll(waiting, reference.superInterfaces());
            }
        }
        return new Hierarchy(types);
    }

    private static void addAll(Deque<TypeBinding> waiting, ReferenceBinding... types) {
        for (ReferenceBinding type : types == null ? new ReferenceBinding[0] : types) {
            if (type != null) {
                waiting.add(type);
            }
        }
    }

    /** Whether every supertype was found. */
    boolean isComplete() {
        return types.stream().allMatch(type -> type.isValidBinding()
            && (type.tagBits & (TagBits.HasMissingType | TagBits.HierarchyHasProblems)) == 0);
    }

    /** Whether one of the types is declared in the file of this name (of whatever package). */
    boolean isDeclaredIn(String fileName) {
        return types.stream().anyMatch(type -> type instanceof ReferenceBinding reference
            && reference.getFileName() != null
            && CharOperation.endsWith(reference.getFileName(), fileName.toCharArray()));
    }

    /** Simple names of all fields, methods and nested types. */
    void addMemberNames(Set<String> names) {
        for (TypeBinding type : types) {
            if (!(type instanceof ReferenceBinding reference)) {
                continue;
            }
            for (FieldBinding field : reference.fields()) {
                names.add(new String(field.name));
            }
            for (MethodBinding method : reference.methods()) {
                names.add(new String(method.selector));
            }
            for (ReferenceBinding nested : reference.memberTypes()) {
                names.add(new String(nested.sourceName));
            }
        }
    }
}
