import BrokerHarness
import Foundation
import Testing

/// The catalogue is whole, and what it says of its cases is so.
struct CatalogueTests {
    /// Rows of our own.
    private static let beyond: Set = [
        "E-01", "F-07", "H-01", "H-14", "H-16", "H-28", "J-03", "J-05", "J-16", "J-20", "K-09", "R-09", "R-23", "S-04",
        "U-05",
    ]

    @Test func everyCaseHasOnePlace() {
        let rows = Set(Attack.all.map(\.id)).subtracting(Self.beyond)
        let ids = Catalogue.elsewhere.flatMap { $0.ids.split(separator: " ").map(String.init) } + rows
        #expect(ids.count == Catalogue.count)
        #expect(Set(ids).count == Catalogue.count)
        // The rows for the other endpoints are chosen by their reasons. A table without rows would try nothing.
        #expect(Attack.ofEveryEndpoint.count > 20 && Attack.ofTheWire.count > 5)
        #expect(Attack.all.allSatisfy { !$0.variants.isEmpty })
    }

    @Test(arguments: Catalogue.elsewhere) func theTestIsThere(_ entry: Catalogue.Case) throws {
        if let reason = entry.reason { print("\(entry.ids): \(reason)") }
        guard let file = entry.file else { return }
        let places = ["Tests/Broker", "Tests/Libraries", "Tests/Development", "Tests/Whole", "Sources/Development"]
        let paths = places.map { Checkout.root.appending(path: "\($0)/\(file)") }
        let path = try #require(
            paths.first { FileManager.default.fileExists(atPath: $0.path) }, "\(entry.ids): \(file)")
        let source = try String(contentsOf: path, encoding: .utf8)
        // All but comments.
        let code = source.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
        let literal = /"([^"]*)"|`([^`]*)`/
        #expect(
            code.contains { line in
                line.contains("func \(entry.words)(")
                    || line.matches(of: literal).contains { ($0.1 ?? $0.2 ?? "").contains(entry.words) }
            }, "\(entry.ids): \(file)")
    }
}
