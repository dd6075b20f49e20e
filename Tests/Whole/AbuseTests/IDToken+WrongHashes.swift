import Crypto
import StrictCoding
import BrokerHarness

extension IDToken {
    static func octets(_ value: String) -> [UInt8] { Array(SHA256.hash(data: Array(value.utf8))) }

    static func digest(_ value: String) -> String { Base64URL.encode(octets(value)) }

    static func rightHalfHash(_ value: String) -> String { Base64URL.encode(octets(value)[16...]) }
}
