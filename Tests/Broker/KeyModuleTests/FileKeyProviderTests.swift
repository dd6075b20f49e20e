import Foundation
import KeyModule
import NativeSSO
import Testing

@Suite("The file provider passes the checks of every key provider")
struct FileKeyProviderTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `passes the checks of every provider`() async throws {
        try await KeyProviderConformance.check(KeyAlgorithm.signing) { FileKeyProvider(directory: directory.path) }
    }

    /// Its keys are in memory; only a reload needs the directory.
    @Test func `goes away and comes back`() async throws {
        let (path, aside) = (directory.path, directory.path + ".aside")
        try await KeyProviderConformance.comesBack(FileKeyProvider(directory: path), working: .here) {
            try FileManager.default.moveItem(atPath: path, toPath: aside)
        } back: {
            try FileManager.default.moveItem(atPath: aside, toPath: path)
        }
    }
}
