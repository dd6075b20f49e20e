import Testing

@testable import BrokerHarness

@Suite struct CookieJarTests {
    @Test func cookiesGoBackWhereTheyCameFrom() {
        var jar = CookieJar()
        jar.store(["a=1; Path=/; HttpOnly", "b=x=y"], from: "127.0.0.1:9000")
        #expect(jar.header(for: "127.0.0.1:9000") == "a=1; b=x=y")
        #expect(jar.header(for: "127.0.0.1:9001") == nil)
    }

    @Test func aCookieIsReplacedAndForgotten() {
        var jar = CookieJar()
        jar.store(["a=1", "b=2"], from: "o")
        jar.store(["a=3", "b=; Max-Age=0"], from: "o")
        #expect(jar.header(for: "o") == "a=3")
        jar.store(["a=; max-age=0"], from: "o")
        #expect(jar.header(for: "o") == nil)
    }
}
