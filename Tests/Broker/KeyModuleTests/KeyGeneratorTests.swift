@testable import KeyModule
import NativeSSO
import Testing

@Suite("Which key is generated next")
struct KeyGeneratorTests {
    private let directory: TemporaryDirectory
    private let generator: KeyGenerator

    init() throws {
        directory = try TemporaryDirectory()
        generator = KeyGenerator(provider: FileKeyProvider(directory: directory.path))
    }

    private func refreshTokenKey(_ id: Int, _ state: KeyState = .retired) -> KeyRecord {
        .of(
            GeneratedKey(kid: "k\(id)", reference: "refresh-token-\(id).key", algorithm: .hs256, publicJWK: nil),
            .refreshToken, state)
    }

    @Test func `refresh-token keys count upwards from 1`() async throws {
        #expect(try await generator.generate(.refreshToken, beside: []).reference == "refresh-token-1.key")
        #expect(
            try await generator.generate(.refreshToken, beside: [refreshTokenKey(1), refreshTokenKey(41)]).reference
                == "refresh-token-42.key")
    }

    @Test func `after 255 comes the lowest id that is free`() async throws {
        let taken = [1, 2, 255].map { refreshTokenKey($0) } + [refreshTokenKey(3, .removed)]
        #expect(try await generator.generate(.refreshToken, beside: taken).reference == "refresh-token-3.key")
        await #expect(throws: KeyError.noIDsLeft) {
            try await generator.generate(.refreshToken, beside: (1...255).map { refreshTokenKey($0) })
        }
    }

    @Test func `there is one device key`() async throws {
        let first = try await generator.generate(.device, beside: [])
        await #expect(throws: KeyError.deviceKeyExists(reference: "device.key")) {
            try await generator.generate(.device, beside: [.of(first, .device)])
        }
    }

    @Test func `signing keys are of the asked kind`() async throws {
        #expect(try await generator.generate(.accessToken, beside: []).algorithm == .es256)
        let rsa = try await generator.generate(.accessToken, algorithm: .rs256, modulusBits: 3072, beside: [])
        #expect(rsa.algorithm == .rs256)
        #expect(try #require(rsa.publicJWK).utf8.count > 512)  // 3072 bits are 512 characters of base64url
        await #expect(throws: KeyError.algorithmDoesNotFit(.hs256, .accessToken)) {
            try await generator.generate(.accessToken, algorithm: .hs256, beside: [])
        }
    }
}
