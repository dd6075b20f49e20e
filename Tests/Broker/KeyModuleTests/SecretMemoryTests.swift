import Foundation
import JOSE
@testable import KeyModule
import NativeSSO
import Testing

@Suite("Where a private number lies in memory")
struct SecretMemoryTests {
    /// The first half of the private number of ``pem``, each octet inverted, so that this constant is not it.
    private static let inverted: [UInt8] = [
        0x14, 0x28, 0xb6, 0xf7, 0xdb, 0x64, 0x63, 0xbc, 0xac, 0x82, 0xb2, 0xe9, 0x32, 0xd4, 0x45, 0x65,
    ]

    private static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg69dJCCSbnENTfU0W
        zSu6mu3yik/W+hyNqNBNINgs3XahRANCAAQvk9vnaK1Lkg37wLbIOCQ5fekI9ZGc
        xg/wl4t21Qirh24bbRdZxeaLl3mG9Rms1e5F6uWXor1tXTTJDh63mY2K
        -----END PRIVATE KEY-----

        """

    /// In the locked heap, which the search leaves out. In the order of the file, or turned round as libraries hold numbers.
    private static func number(isReversed: Bool) throws -> SecureBytes {
        let inverted = isReversed ? inverted.reversed() : inverted
        return try SecureBytes(capacity: inverted.count) { octets in
            for (index, octet) in inverted.enumerated() { octets[index] = ~octet }
            return inverted.count
        }
    }

    /// The mappings of this process that can be written to, without the one of `secret`.
    private static func mappings(without secret: SecureBytes) throws -> [Range<UInt64>] {
        let secret = secret.withUnsafeBytes { UInt64(UInt(bitPattern: $0.baseAddress)) }
        let lines = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n")
        return lines.compactMap { line in
            let fields = line.split(separator: " ")
            let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard fields[1].hasPrefix("rw"), ends.count == 2, !(ends[0]..<ends[1]).contains(secret) else { return nil }
            return ends[0]..<ends[1]
        }
    }

    /// How often the number lies outside the locked heap.
    private static func copies() throws -> Int {
        let numbers = [try number(isReversed: false), try number(isReversed: true)]
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0)
        defer { close(memory) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var found = 0
        for mapping in try mappings(without: numbers[0]) {
            var start = mapping.lowerBound
            // The last read of a mapping is shorter than a number.
            while true {
                let count = pread(
                    memory, buffer.baseAddress, min(buffer.count, Int(mapping.upperBound - start)), off_t(start))
                guard count >= inverted.count else { break }
                for number in numbers { found += occurrences(of: number, in: UnsafeRawBufferPointer(buffer)[..<count]) }
                buffer.initializeMemory(as: UInt8.self, repeating: 0)
                start += UInt64(count - inverted.count + 1)
            }
        }
        return found
    }

    private static func occurrences(of number: SecureBytes, in memory: Slice<UnsafeRawBufferPointer>) -> Int {
        number.withUnsafeBytes { number in
            var rest = UnsafeRawBufferPointer(rebasing: memory)
            var found = 0
            while let start = rest.baseAddress, let hit = memchr(start, Int32(number[0]), rest.count) {
                rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(hit) - start)...])
                if rest.starts(with: number) { found += 1 }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
            }
            return found
        }
    }

    /// OpenSSL frees a copy without overwriting it when it reads a file. New blocks take its place.
    private static func overwriteFreeMemory() {
        let blocks = (0..<20_000).map { index in
            let size = 16 + 16 * (index % 64)
            let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            block.initializeMemory(as: UInt8.self, repeating: 0xa5, count: size)
            return block
        }
        for block in blocks { block.deallocate() }
    }

    @Test(arguments: [false, true])
    func `it lies in the locked heap only`(isOpenSSL: Bool) async throws {
        let read = try PrivateKeyPEM.decode(try SecureBytes(Self.pem))
        let key: any SigningKey = isOpenSSL ? try EVPSigningKey(read, algorithm: .es256) : try P256SigningKey(read)
        // On the thread that freed it.
        Self.overwriteFreeMemory()
        let message = Array("message".utf8)
        #expect(key.publicKey.verifies(try await key.signature(over: message), of: message, algorithm: .es256))
        #expect(try Self.copies() == 0)
    }
}
