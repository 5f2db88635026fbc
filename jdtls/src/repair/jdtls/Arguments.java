package repair.jdtls;

import java.util.List;
import java.util.Map;

/** Typed reading of a command's one JSON object; what is absent or of another type is the caller's mistake. */
record Arguments(Map<?, ?> values) {
    static Arguments of(List<Object> arguments) {
        if (arguments.size() == 1 && arguments.get(0) instanceof Map<?, ?> values) {
            return new Arguments(values);
        }
        throw new IllegalArgumentException("one object expected");
    }

    String text(String name) {
        return value(name, String.class);
    }

    int number(String name) {
        return value(name, Number.class).intValue();
    }

    boolean flag(String name) {
        return value(name, Boolean.class);
    }

    List<String> texts(String name) {
        return ((List<?>) value(name, List.class)).stream().map(String.class::cast).toList();
    }

    private <T> T value(String name, Class<T> type) {
        Object value = values.get(name);
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException("`" + name + "` is missing or not a " + type.getSimpleName());
        }
        return type.cast(value);
    }
}
