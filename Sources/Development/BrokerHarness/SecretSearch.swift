import Crypto
package import Foundation
import OAuthWire
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
            let text = Self.base64URL(octets, behind: offset)
            add(Array(text.utf8), "\(name), base64url")
            if text.contains(where: { "-_".contains($0) }) {
                add(Array(text.replacing("-", with: "+").replacing("_", with: "/").utf8), "\(name), base64")
            }
        }
        let hexadecimal = Hexadecimal.encode(octets)
        add(Array(hexadecimal.utf8), "\(name), hexadecimal")
        add(Array(hexadecimal.uppercased().utf8), "\(name), hexadecimal")
        add(Array(Self.urlEncoded(octets).utf8), "\(name), URL-encoded")
        let form = FormEncoder.encode([(name: "", value: String(decoding: octets, as: UTF8.self))]).dropFirst()
        if Array(form) != octets { add(Array(form), "\(name), URL-encoded") }
        let digest = Array(SHA256.hash(data: octets))
        add(digest, "SHA-256 of \(name)")
        add(Array(Hexadecimal.encode(digest).utf8), "SHA-256 of \(name), hexadecimal")
        add(Array(Base64URL.encode(digest).utf8), "SHA-256 of \(name), base64url")
    }

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
    private static func base64URL(_ octets: [UInt8], behind offset: Int) -> String {
        let text = Base64URL.encode([UInt8](repeating: 0, count: offset) + octets)
        let isOpen = !(offset + octets.count).isMultiple(of: 3)
        return String(text.dropFirst(offset == 0 ? 0 : offset + 1).dropLast(isOpen ? 1 : 0))
    }

    private static func urlEncoded(_ octets: [UInt8]) -> String {
        octets.map { "%" + Hexadecimal.encode(CollectionOfOne($0)).uppercased() }.joined()
    }
}
