package shop;

class Broken {
    int a() { return missing(); }
    int b(int given) {
        <hole>return given;</hole>
    }
    int c() { return missing(); }
}
