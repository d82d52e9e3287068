// Reads the responses of responses.json with net/http, and prints what it finds in them: a JSON object for each, in order.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
)

type response struct {
	Method string
	Bytes  string
}

type reading struct {
	Refused  string `json:"refused,omitempty"`
	Status   int    `json:"status"`
	Fields   int    `json:"fields"`
	Body     string `json:"body"`
	Trailers int    `json:"trailers"`
	Closes   bool   `json:"closes"`
	Rest     int    `json:"rest"`
}

// octets converts text whose characters are octets.
func octets(text string) []byte {
	var all []byte
	for _, character := range text {
		all = append(all, byte(character))
	}
	return all
}

// text is the inverse of octets.
func text(octets []byte) string {
	characters := make([]rune, len(octets))
	for index, octet := range octets {
		characters[index] = rune(octet)
	}
	return string(characters)
}

func read(given response) reading {
	source := bytes.NewReader(octets(given.Bytes))
	reader := bufio.NewReader(source)
	for {
		response, err := http.ReadResponse(reader, &http.Request{Method: given.Method})
		if err != nil {
			return reading{Refused: err.Error()}
		}
		if response.StatusCode < 200 && response.StatusCode != 101 {
			continue
		}
		result := reading{Status: response.StatusCode, Closes: response.Close}
		for _, values := range response.Header {
			result.Fields += len(values)
		}
		if response.StatusCode != 101 {
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return reading{Refused: err.Error()}
			}
			result.Body = text(body)
		}
		for _, values := range response.Trailer {
			result.Trailers += len(values)
		}
		result.Rest = reader.Buffered() + source.Len()
		return result
	}
}

func main() {
	var given []response
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	output := json.NewEncoder(os.Stdout)
	for _, one := range given {
		if err := output.Encode(read(one)); err != nil {
			panic(err)
		}
	}
}
