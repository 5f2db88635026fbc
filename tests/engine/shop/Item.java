package shop;

public class Item {
    public final String label;
    private int secret;
    public static final int LIMIT = 3;
    public Item(String label) { this.label = label; }
    public int price() { return secret; }
    public static class Tag { public String text; }
    public enum Kind { SMALL, LARGE }
}
