package shop;

import java.io.*;
import java.util.*;
import java.util.function.Function;
import java.util.stream.Collectors;
import static java.util.Map.Entry.comparingByKey;

abstract class Gallery<T extends Comparable<T>> extends AbstractList<T> implements Closeable {
    enum Mode { FAST, SLOW; Mode next() { return values()[(ordinal() + 1) % values().length]; } }
    record Pair<A, B>(A left, B right) { }
    static class Node { Node next; int[] marks = new int[3]; Node find(String key) { return this; } }
    class Leaf extends Node { Leaf() { super(); } }
    protected Map<String, List<Item>> shelves = new TreeMap<>();
    private Mode mode = Mode.FAST;
    private static final Comparator<Item> ORDER = Comparator.comparing(i -> i.label);

    int walk(Object given, List<? extends Number> numbers, Item... more) throws IOException {
        // begin
        int count = 0, limit = Item.LIMIT;
        for (Map.Entry<String, List<Item>> shelf : shelves.entrySet()) { count += shelf.getValue().size(); }
        for (int i = 0, n = more.length; i < n; i++) { if (more[i].label == null) continue; count += i * n; }
        switch (mode) { case FAST: count++; break; case SLOW: default: mode = mode.next(); }
        if (given instanceof Node node && node.next != null) { return node.next.marks[0]; }
        if (!(given instanceof String)) { throw new IllegalStateException(String.valueOf(given)); }
        String text = (String) given, upper = ((String) given).toUpperCase(Locale.ROOT);
        Node node = new Leaf().find(text).next, other = new Gallery.Node();
        try (Reader reader = new StringReader(text)) { count += reader.read(); } catch (IOException | RuntimeException e) { e.printStackTrace(); } finally { count--; }
        int total = numbers.stream().mapToInt(Number::intValue).filter(x -> x > limit && x < 10).sum();
        List<String> labels = Arrays.stream(more).sorted(ORDER).map(item -> item.label.trim()).collect(Collectors.toList());
        Map<String, Integer> lengths = labels.stream().collect(Collectors.toMap(Function.identity(), String::length, (a, b) -> a + b));
        lengths.entrySet().stream().sorted(comparingByKey()).forEach(entry -> { int length = entry.getValue(); System.out.println(entry.getKey() + length); });
        Runnable task = () -> { synchronized (shelves) { shelves.clear(); } };
        Object anonymous = new Object() { int inner = limit; @Override public String toString() { return text + inner; } };
        outer: while (count < limit) { do { count++; if (count == 2) break outer; } while (count > limit); }
        boolean flag = count > limit ? labels.isEmpty() : text.equals(upper) || !lengths.containsKey(upper);
        char[][] grid = { text.toCharArray(), new char[] { 'a', upper.charAt(0) } };
        java.util.Optional<Pair<String, Item>> pair = Optional.of(new Pair<>(text, more[0])); String left = pair.get().left();
        int[] marks = Objects.requireNonNull(node).marks; marks[marks.length - 1] = grid[0][count] << limit & ~total;
        T first = this.get(0), second = Gallery.this.get(1); int order = first.compareTo(second) + modCount;
        StringBuilder builder = new StringBuilder(); builder.append(first).append(other).append(flag).append(order).append(left);
        assert count >= 0 : builder; task.run(); anonymous.hashCode();
        int picked = switch (mode) { case FAST -> count; case SLOW -> { int slow = limit; yield slow + count; } };
        // end
        return count;
    }
}
