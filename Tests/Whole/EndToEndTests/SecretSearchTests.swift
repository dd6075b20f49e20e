import Foundation
import BrokerHarness
import Testing

struct SecretSearchTests {
    /// It looks at every eighth place alone.
    @Test func aSecretIsFoundWhereverItLies() {
        let secret = "a secret of 25 characters"
        var search = SecretSearch()
        search.add(secret, "it")
        for before in 0..<17 {
            for behind in 0..<9 {
                let text = String(repeating: "x", count: before) + secret + String(repeating: "y", count: behind)
                #expect(search.findings(in: text) == ["it"], "\(before), \(behind)")
            }
        }
        #expect(search.findings(in: "x" + secret.dropFirst()).isEmpty)
        #expect(search.findings(in: String(secret.dropLast())).isEmpty)
        #expect(search.findings(in: "").isEmpty)
        // A short one is looked for by itself.
        search.add("short", "another")
        #expect(search.findings(in: "a short one") == ["another"])
        #expect(search.findings(in: "sort").isEmpty)
    }
}
