import Foundation
@testable import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding

extension Readers {
    /// A key that was read and written again is the same key.
    static func jwk(_ octets: [UInt8]) throws -> Bool {
        guard let json = try? JSONReader.parse(octets).object else { return false }
        guard let key = try? JSONWebKey(json) else { return false }
        try hold((try? JSONWebKey(key.json)) == key, "a key is not read as it was written")
        _ = try? JSONWebKey(json, allowingPrivateMembers: true)
        for name in ["d", "p", "q", "k"] { try hold(!json.contains(name), "a private key was taken") }
        return true
    }

    /// So is a set. No two of its keys answer to one name for one algorithm.
    static func keySet(_ octets: [UInt8]) throws -> Bool {
        guard let set = try? JSONWebKeySet(document: octets) else { return false }
        let again = try? JSONWebKeySet(document: set.document)
        try hold(again?.keys == set.keys && again?.skipped == [:], "a key set is not read as it was written")
        for key in set.keys {
            for algorithm in SignatureAlgorithm.allCases where key.supports(algorithm) {
                let namesakes = set.keys.filter { other in
                    other.supports(algorithm) && other.thumbprint != key.thumbprint
                        && key.keyID.map { $0.utf8.elementsEqual((other.keyID ?? "").utf8) } == true
                }
                try hold(namesakes.isEmpty, "two keys go by one name")
            }
        }
        return true
    }

    /// What a discovery document makes us fetch lies where we were told it may, as another reader of URLs sees it.
    static func discovery(_ octets: [UInt8]) throws -> Bool {
        guard let issuer = Issuer("https://idp.example.com") else { return false }
        let metadata = try? ProviderMetadata(document: octets, issuer: issuer, hosts: ["idp.example.com"])
        guard let metadata else { return false }
        try hold(metadata.jwksURI.host == "idp.example.com", "a foreign host")
        let url = URL(string: metadata.jwksURI.string)
        try hold(url?.host()?.lowercased() == "idp.example.com", "\(metadata.jwksURI) has another host")
        try hold(url?.scheme?.lowercased() == "https", "\(metadata.jwksURI) is not https")
        return true
    }
}
