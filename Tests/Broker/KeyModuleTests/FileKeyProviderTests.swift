import Foundation
import KeyModule
import NativeSSO
import Testing

@Suite("The file provider passes the checks of every key provider")
struct FileKeyProviderTests {
    private let directory: TemporaryDirectory
    private let provider: FileKeyProvider

    init() throws {
        directory = try TemporaryDirectory()
        provider = FileKeyProvider(directory: directory.path)
    }

    @Test(arguments: KeyAlgorithm.signing)
    func `signs what its public key verifies`(algorithm: KeyAlgorithm) async throws {
        try await KeyProviderConformance.signsWhatItsPublicKeyVerifies(provider, algorithm)
    }

    @Test func `ECDSA signatures have a fixed length`() async throws {
        try await KeyProviderConformance.ecdsaSignaturesHaveFixedLength(provider)
    }

    @Test(arguments: KeyAlgorithm.signing)
    func `names keys by their thumbprint`(algorithm: KeyAlgorithm) async throws {
        try await KeyProviderConformance.namesKeysByThumbprint(provider, algorithm)
    }

    @Test func `finds a key again`() async throws {
        try await KeyProviderConformance.findsAKeyAgain { FileKeyProvider(directory: directory.path) }
    }

    @Test func `refuses another key than the one meant`() async throws {
        try await KeyProviderConformance.refusesAnotherKeyThanTheOneMeant(provider)
    }

    @Test func `never overwrites a key`() async throws {
        try await KeyProviderConformance.neverOverwritesAKey(provider)
    }

    @Test func `tags concurrently`() async throws { try await KeyProviderConformance.tagsConcurrently(provider) }

    @Test func `refuses a key of the wrong kind`() async throws {
        try await KeyProviderConformance.refusesTheWrongKind(provider)
    }

    /// Its keys are in memory; only a reload needs the directory.
    @Test func `goes away and comes back`() async throws {
        let (path, aside) = (directory.path, directory.path + ".aside")
        try await KeyProviderConformance.comesBack(provider, working: .here) {
            try FileManager.default.moveItem(atPath: path, toPath: aside)
        } back: {
            try FileManager.default.moveItem(atPath: aside, toPath: path)
        }
    }

    @Test func `destroys for good`() async throws {
        try await KeyProviderConformance.destroysForGood(provider)
    }

    @Test(arguments: KeyAlgorithm.signing)
    func `signs concurrently`(algorithm: KeyAlgorithm) async throws {
        try await KeyProviderConformance.signsConcurrently(provider, algorithm)
    }
}
