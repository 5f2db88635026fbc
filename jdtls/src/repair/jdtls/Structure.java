package repair.jdtls;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.eclipse.jdt.internal.compiler.ClassFile;
import org.eclipse.jdt.internal.compiler.classfmt.ClassFileConstants;
import org.eclipse.jdt.internal.compiler.classfmt.ClassFileReader;
import org.eclipse.jdt.internal.compiler.classfmt.ClassFormatException;
import org.eclipse.jdt.internal.compiler.env.IBinaryField;
import org.eclipse.jdt.internal.compiler.env.IBinaryMethod;

/**
 * What other files can see of the classes of one unit: types and their supertypes, fields with constant values, methods
 * with what they throw. Private members, local classes and bodies are not a part of it.
 *
 * @param parts each thing that is seen, as one text that begins with the simple name by which it is used and a space
 */
record Structure(Set<String> parts) {
    static Structure of(Collection<ClassFile> classes) {
        Set<String> parts = new HashSet<>();
        for (ClassFile file : classes) {
            try {
                ClassFileReader type = new ClassFileReader(file.getBytes(), file.fileName());
                if (!type.isLocal() && !type.isAnonymous()) {
                    add(type, parts);
                }
            } catch (ClassFormatException broken) {
                throw new IllegalStateException("the compiler's own class file is broken", broken);
            }
        }
        return new Structure(parts);
    }

    private static void add(ClassFileReader type, Set<String> parts) {
        String name = text(type.getName());
        String simple = text(type.getSourceName());
        parts.add(String.join(" ", simple, name, Integer.toHexString(type.getModifiers()), text(type.getSuperclassName()),
            texts(type.getInterfaceNames()), text(type.getGenericSignature()), texts(type.getPermittedSubtypesNames())));
        for (IBinaryField field : orEmpty(type.getFields(), new IBinaryField[0])) {
            if (isSeen(field.getModifiers())) {
                parts.add(String.join(" ", text(field.getName()), name, Integer.toHexString(field.getModifiers()),
                    text(field.getTypeName()), text(field.getGenericSignature()), Objects.toString(field.getConstant())));
            }
        }
        for (IBinaryMethod method : orEmpty(type.getMethods(), new IBinaryMethod[0])) {
            if (isSeen(method.getModifiers())) {
                String called = method.isConstructor() ? simple : text(method.getSelector());
                parts.add(String.join(" ", called, name, Integer.toHexString(method.getModifiers()),
                    text(method.getMethodDescriptor()), text(method.getGenericSignature()),
                    texts(method.getExceptionTypeNames())));
            }
        }
    }

    /** Simple names of what is in one of the two and not in the other, and of the classes whose subclasses that concerns. */
    Set<String> namesOfChanges(Structure other) {
        List<String> changed = new ArrayList<>(parts);
        changed.removeAll(other.parts);
        other.parts.stream().filter(part -> !parts.contains(part)).forEach(changed::add);
        Set<String> names = changed.stream().map(part -> part.substring(0, part.indexOf(' '))).collect(Collectors.toSet());
        for (String part : changed) {
            String type = part.split(" ")[1];
            names.add(type.substring(Math.max(type.lastIndexOf('/'), type.lastIndexOf('$')) + 1));
        }
        return names;
    }

    private static boolean isSeen(int modifiers) {
        return (modifiers & (ClassFileConstants.AccPrivate | ClassFileConstants.AccSynthetic)) == 0;
    }

    private static String text(char[] text) {
        return text == null ? "-" : new String(text);
    }

    private static String texts(char[][] texts) {
        return texts == null ? "-" : Arrays.stream(texts).map(String::new).collect(Collectors.joining(","));
    }

    private static <T> T[] orEmpty(T[] values, T[] empty) {
        return values == null ? empty : values;
    }
}
