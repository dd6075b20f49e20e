import StrictCoding
import Testing

@Suite struct CharacterSetTests {
    @Test func unreserved() {
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        for octet in UInt8.min...UInt8.max { #expect(octet.isUnreserved == unreserved.contains(octet)) }
    }

    @Test(arguments: [0, 40])
    func printableASCII(lettersBefore: Int) {
        let letters = Array(repeating: UInt8(ascii: "a"), count: lettersBefore)
        for octet in UInt8.min...UInt8.max {
            let isPrintable = (letters + [octet]).withUnsafeBufferPointer {
                $0.span.isPrintableASCII(except: UInt8(ascii: "%"), UInt8(ascii: "+"))
            }
            let isExpected = (0x20...0x7E).contains(octet) && octet != UInt8(ascii: "%") && octet != UInt8(ascii: "+")
            #expect(isPrintable == isExpected)
        }
        #expect("".isPrintableASCII())
        #expect(!"é".isPrintableASCII())
    }
}
