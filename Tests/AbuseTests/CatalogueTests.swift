import Foundation
import Testing

/// The catalogue is whole, and what it says of its cases is so.
struct CatalogueTests {
    private static let attacks = Set(Attack.all.map(\.id))
    /// Rows of our own.
    private static let beyond: Set = [
        "E-01", "F-07", "H-01", "H-14", "H-16", "J-03", "J-05", "J-16", "J-20", "K-09", "R-09", "R-23", "S-04", "U-05",
    ]

    @Test func everyCaseHasOnePlace() {
        #expect(Catalogue.cases.count == Catalogue.count)
        #expect(Set(Catalogue.cases.map(\.id)).count == Catalogue.count)
        let areas = Dictionary(grouping: Catalogue.cases) { $0.id.prefix(1) }.mapValues(\.count)
        #expect(
            areas == [
                "H": 18, "F": 15, "C": 13, "J": 16, "K": 19, "W": 10, "D": 16, "S": 5, "U": 6, "R": 15, "P": 9, "X": 5,
                "E": 10, "L": 15, "V": 7, "M": 5, "T": 13, "G": 13,
            ])
    }

    @Test func rowsAreThoseOfTheTable() {
        let rows = Set(
            Catalogue.cases.compactMap { entry in if case .row = entry.place { entry.id } else { nil } })
        #expect(rows.subtracting(Self.attacks).isEmpty, "the table lacks them")
        // A row whose case is said to wait, or to be tried elsewhere, would contradict the catalogue.
        #expect(Self.attacks.subtracting(rows) == Self.beyond)
    }

    @Test func testsElsewhereAreThere() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        for entry in Catalogue.cases {
            guard case .test(let file, let words) = entry.place else { continue }
            let text = try String(contentsOf: tests.appending(path: file), encoding: .utf8)
            #expect(text.contains(words), "\(entry.id): \(file)")
        }
    }

    /// Also in the output of the run.
    @Test func whatIsNotTriedSaysWhy() {
        for entry in Catalogue.cases {
            switch entry.place {
            case .row, .test: continue
            case .waits(let what):
                #expect(!what.isEmpty)
                print("\(entry.id) waits for \(what)")
            case .doesNotApply(let reason):
                #expect(!reason.isEmpty)
                print("\(entry.id) does not apply: \(reason)")
            }
        }
    }
}
