import ArgumentParser
import BrokerHTTP
import JOSE
import NativeSSO
import RegularFiles
import StrictCoding

/// A client's public key as an operator brings it: one JWK in a file.
struct ClientKeyFile {
    let registered: ClientKey
    let algorithm: Algorithm
    /// RFC 7638.
    private let thumbprint: [UInt8]

    /// What a client may sign with: what the broker takes.
    struct Algorithm: ExpressibleByArgument, Hashable {
        let signature: SignatureAlgorithm

        static let all = AssertionSignature.algorithms.sorted { $0.rawValue < $1.rawValue }.map(Self.init(signature:))
        static let allValueStrings = all.map(\.signature.rawValue)

        init(signature: SignatureAlgorithm) { self.signature = signature }

        init?(argument: String) {
            guard let own = Self.all.first(where: { $0.signature.rawValue.hasSameOctets(as: argument) })
            else { return nil }
            self = own
        }
    }

    /// - Parameters:
    ///   - path: Of the JWK.
    ///   - kid: Where the JWK has none.
    ///   - algorithm: Where the JWK has none.
    init(_ path: String, kid: ClientKeyID?, algorithm: Algorithm?) throws(CommandFailure) {
        let key = try Self.key(in: path)
        let algorithm = try Self.algorithm(of: key, algorithm, path)
        let id = try Self.id(of: key, kid, path)
        let publicKey: JSONWebKey
        do throws(JSONWebKeyError) {
            publicKey = try JSONWebKey(key.parameters, keyID: id.string, algorithm: algorithm.signature)
        } catch {
            throw .usage("\(path): the key is none for \(algorithm.signature.rawValue)")
        }
        var json = JSONWriter()
        json.value(.object(publicKey.json))
        registered = ClientKey(id: id, publicJWK: String(decoding: json.bytes, as: UTF8.self))
        self.algorithm = algorithm
        thumbprint = publicKey.thumbprint
    }

    /// Whether it is the same key, whatever `kid` and `alg` it has there.
    func isSameKey(as other: ClientKey) -> Bool {
        guard let json = (try? JSONReader.parse(other.publicJWK.utf8))?.object, let key = try? JSONWebKey(json)
        else { return false }
        return key.thumbprint == thumbprint
    }

    private static func key(in path: String) throws(CommandFailure) -> JSONWebKey {
        let octets: [UInt8]
        do throws(ValueDefect) {
            octets = try RegularFile.contents(path, limit: 64 << 10).octets
        } catch {
            throw .usage("\(path): \(error.message)")
        }
        guard let json = (try? JSONReader.parse(octets))?.object else { throw .usage("\(path): is no JSON object") }
        if json.contains("keys") { throw .usage("\(path): is a set of keys; give one JWK") }
        do throws(JSONWebKeyError) {
            return try JSONWebKey(json)
        } catch .privateKey {
            throw .usage("\(path): holds a private key, which the client keeps for itself; give its public part")
        } catch {
            throw .usage("\(path): is no public key that an assertion can be verified with (\(error))")
        }
    }

    private static func algorithm(
        of key: JSONWebKey, _ given: Algorithm?, _ path: String
    ) throws(CommandFailure) -> Algorithm {
        if let own = key.algorithm {
            guard let algorithm = Algorithm.all.first(where: { $0.signature == own }),
                given ?? algorithm == algorithm
            else { throw .usage("\(path): the key is for \(own.rawValue)") }
            return algorithm
        }
        if let given { return given }
        let possible = Algorithm.all.filter { key.supports($0.signature) }
        if possible.isEmpty {
            throw .usage("\(path): is no key for any of \(Algorithm.allValueStrings.joined(separator: ", "))")
        }
        guard let only = possible.first, possible.count == 1 else {
            throw .usage("\(path): the JWK has no alg; say with --algorithm which signature the client makes")
        }
        return only
    }

    private static func id(
        of key: JSONWebKey, _ given: ClientKeyID?, _ path: String
    ) throws(CommandFailure) -> ClientKeyID {
        guard let own = key.keyID else {
            if let given { return given }
            return ClientKeyID(validated: Base64URL.encode(key.thumbprint))
        }
        guard let id = ClientKeyID(own) else { throw .usage("\(path): kid is not printable ASCII") }
        guard given ?? id == id else { throw .usage("\(path): the JWK has another kid") }
        return id
    }
}
