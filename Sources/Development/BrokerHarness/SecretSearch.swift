import Crypto
package import Foundation
import StrictCoding

/// Searches for leaked secrets, in every form in which a program could have written them.
///
/// Not seen: what was compressed, encrypted, or cut into pieces other than the parts of a token.
package struct SecretSearch: Sendable {
    /// A form of a secret in a file.
    package struct Finding: Hashable, Sendable, CustomStringConvertible {
        package let form: String
        /// Below the directory that was searched.
        package let file: String
        package var description: String { "\(form), in \(file)" }
    }

    private var names: [String] = []
    private var search = OctetSearch()
    private var known: Set<[UInt8]> = []

    package init() {}

    /// One that was added before keeps its first name.
    package mutating func add(_ secret: String, _ name: String) {
        add(octets: Array(secret.utf8), name)
        // A token without its signature is useless, so a leaked signature counts as a leaked token.
        let parts = secret.split(separator: ".")
        if parts.count > 1, let last = parts.last, last.utf8.count >= 20 {
            add(octets: Array(last.utf8), "the signature of \(name)")
        }
        if let last = parts.last, last.utf8.count >= 20, let decoded = Base64URL.decode(String(last)) {
            add(octets: decoded, "\(name), decoded")
        }
    }

    /// One that is no text.
    package mutating func add(octets: [UInt8], _ name: String) {
        guard !octets.isEmpty, !known.contains(octets) else { return }
        add(octets, name)
        for offset in 0..<3 {
            let text = Self.base64(octets, behind: offset)
            add(Self.replacing(Self.replacing(text, "+", "-"), "/", "_"), "\(name), base64url")
            add(text, "\(name), base64")
        }
        add(Self.hexadecimal(octets, "0123456789abcdef"), "\(name), hexadecimal")
        add(Self.hexadecimal(octets, "0123456789ABCDEF"), "\(name), hexadecimal")
        add(Self.hexadecimal(octets, "0123456789ABCDEF", each: "%"), "\(name), URL-encoded")
        let form = String(decoding: octets, as: UTF8.self).addingPercentEncoding(withAllowedCharacters: Self.unreserved)
        add(Array((form ?? "").replacingOccurrences(of: "%20", with: "+").utf8), "\(name), URL-encoded")
        let digest = Array(SHA256.hash(data: octets))
        add(digest, "SHA-256 of \(name)")
        add(Self.hexadecimal(digest, "0123456789abcdef"), "SHA-256 of \(name), hexadecimal")
        add(Array(Base64URL.encode(digest).utf8), "SHA-256 of \(name), base64url")
    }

    private static let unreserved = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")

    private mutating func add(_ needle: [UInt8], _ name: String) {
        guard known.insert(needle).inserted else { return }
        names.append(name)
        search.add(needle)
    }

    /// The forms that were found.
    package func findings(in text: String) -> [String] {
        search.matches(in: Data(text.utf8)).sorted().map { names[$0] }
    }

    /// The forms that were found in the files of a directory and of those in it.
    ///
    /// A file that goes away meanwhile is passed over.
    package func findings(inFilesUnder directory: URL) throws -> Set<Finding> {
        var findings: Set<Finding> = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            let location = directory.appending(path: file)
            guard (try? location.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true,
                let data = try? Data(contentsOf: location)
            else { continue }
            for match in search.matches(in: data) { findings.insert(Finding(form: names[match], file: file)) }
        }
        return findings
    }

    /// The characters that do not depend on what stands before and behind, which they share an octet group with.
    /// - Parameter offset: Octets of the first group that are something else's.
    private static func base64(_ octets: [UInt8], behind offset: Int) -> [UInt8] {
        let text = (Data(count: offset) + octets).base64EncodedData()
        let count = offset + octets.count
        // A last character that has bits of less than one octet is open to what stands behind.
        return Array(text[(offset == 0 ? 0 : offset + 1)..<(count * 8 / 6)])
    }

    // Loops: without optimization, closures over every octet of every token are half of the work of a test.

    private static func replacing(_ text: [UInt8], _ old: Unicode.Scalar, _ new: Unicode.Scalar) -> [UInt8] {
        let (old, new) = (UInt8(ascii: old), UInt8(ascii: new))
        var text = text
        for index in text.indices where text[index] == old { text[index] = new }
        return text
    }

    private static func hexadecimal(
        _ octets: [UInt8], _ digits: StaticString, each prefix: Unicode.Scalar? = nil
    ) -> [UInt8] {
        let prefix = prefix.map { UInt8(ascii: $0) }
        var text: [UInt8] = []
        text.reserveCapacity(3 * octets.count)
        for octet in octets {
            if let prefix { text.append(prefix) }
            text.append(digits.utf8Start[Int(octet >> 4)])
            text.append(digits.utf8Start[Int(octet & 15)])
        }
        return text
    }
}
