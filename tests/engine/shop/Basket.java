package shop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map.Entry;
import static shop.Rates.*;

public class Basket {
    private final List<Item> items = new ArrayList<>();
    private int totalCount;

    /* astral: 𝒳 */ int sum(Item first, int[] weights) {
        int total = 0;
        String tally = "";
        for (int turn = 0; turn < 3; turn++) { int throwaway = turn; }
        <hole>return total;</hole>
    }

    void each(Runnable task) { task.run(); }
    void later() { }
    class Inner { }
}
