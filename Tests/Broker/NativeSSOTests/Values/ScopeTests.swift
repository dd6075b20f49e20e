import NativeSSO
import Testing

@Suite struct ScopeTests {
    private let scope = Scope(["openid", "profile", "orders.read"])

    @Test func keepsTheOrderAndCollapsesDuplicates() {
        #expect(Scope(["b", "a", "b", "c", "a"]).tokens == ["b", "a", "c"])
        #expect(scope.description == "openid profile orders.read")
        #expect(Scope.empty.description == "")
    }

    @Test func orderDoesNotMatter() {
        #expect(Scope(["a", "b"]) == Scope(["b", "a"]))
        #expect(Scope(["a", "b"]).hashValue == Scope(["b", "a"]).hashValue)
        #expect(Scope(["a", "b"]) != Scope(["a"]))
        #expect(Scope(["a"]) != Scope(["A"]))
    }

    @Test func isASet() {
        #expect(Scope(["profile"]).isSubset(of: scope))
        #expect(Scope.empty.isSubset(of: scope))
        #expect(!Scope(["profile", "admin"]).isSubset(of: scope))
        #expect(scope.isDisjoint(with: Scope(["admin"])))
        #expect(!scope.isDisjoint(with: Scope(["admin", "openid"])))
        #expect(scope.intersection(Scope(["orders.read", "openid"])).tokens == ["openid", "orders.read"])
        #expect(scope.removing("profile").tokens == ["openid", "orders.read"])
        #expect(scope.removing("openi") == scope)
        #expect(scope.contains("openid") && !scope.contains("open"))
        #expect(Scope.empty.isEmpty && !scope.isEmpty)
    }
}
